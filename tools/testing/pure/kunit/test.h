/* SPDX-License-Identifier: GPL-2.0 */
/* As much of KUnit as the suites of pure functions use, for user space */
#ifndef PURE_KUNIT_TEST_H
#define PURE_KUNIT_TEST_H

#include <setjmp.h>

#define KUNIT_PARAM_DESC_SIZE	128
#define GFP_KERNEL		0

struct kunit {
	const void *param_value;
	unsigned int failures;
	jmp_buf stop;
	void *memory[64];
	unsigned int allocated;
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
	const void *(*generate_params)(const void *prev, char *desc);
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
};

#define KUNIT_CASE(function) \
	{ .run_case = function, .name = #function }
#define KUNIT_CASE_PARAM(function, generate) \
	{ .run_case = function, .name = #function, \
	  .generate_params = generate }

#define KUNIT_ARRAY_PARAM(name, array, get_desc)			\
static const void *name##_gen_params(const void *prev, char *desc)	\
{									\
	__typeof__(&(array)[0]) next = prev ?				\
		(__typeof__(&(array)[0]))prev + 1 : (array);		\
	void (*describe)(__typeof__(&(array)[0]), char *) = get_desc;	\
									\
	if ((size_t)(next - (array)) >= ARRAY_SIZE(array))		\
		return NULL;						\
	if (describe)							\
		describe(next, desc);					\
	return next;							\
}

void pure_add_suite(const struct kunit_suite *suite);

#define kunit_test_suite(suite)						\
static void __attribute__((constructor)) suite##_add(void)		\
{									\
	pure_add_suite(&suite);						\
}									\
extern int pure_not_exported

#define PURE_CHECK(test, ok, stops, format, ...) do {			\
	if (!(ok)) {							\
		(test)->failures++;					\
		printf("# %s:%d: " format "\n", __FILE__, __LINE__,	\
		       ##__VA_ARGS__);					\
		if (stops)						\
			longjmp((test)->stop, 1);			\
	}								\
} while (0)

#define PURE_COMPARE(test, ok, stops, a) \
	PURE_CHECK(test, ok, stops, "%s: the first is %lld", #ok, \
		   (long long)(a))

#define KUNIT_EXPECT_TRUE(test, a)	PURE_CHECK(test, a, 0, "not %s", #a)
#define KUNIT_EXPECT_FALSE(test, a)	PURE_CHECK(test, !(a), 0, "%s", #a)
#define KUNIT_EXPECT_EQ(test, a, b) \
	PURE_COMPARE(test, (a) == (b), 0, a)
#define KUNIT_EXPECT_NE(test, a, b) \
	PURE_COMPARE(test, (a) != (b), 0, a)
#define KUNIT_EXPECT_LT(test, a, b) \
	PURE_COMPARE(test, (a) < (b), 0, a)
#define KUNIT_EXPECT_LE(test, a, b) \
	PURE_COMPARE(test, (a) <= (b), 0, a)
#define KUNIT_EXPECT_GT(test, a, b) \
	PURE_COMPARE(test, (a) > (b), 0, a)
#define KUNIT_EXPECT_GE(test, a, b) \
	PURE_COMPARE(test, (a) >= (b), 0, a)
#define KUNIT_EXPECT_NULL(test, a)	PURE_CHECK(test, !(a), 0, "%s", #a)
#define KUNIT_EXPECT_PTR_EQ(test, a, b) \
	PURE_CHECK(test, (const void *)(a) == (const void *)(b), 0, \
		   "%s is not %s", #a, #b)
#define KUNIT_EXPECT_EQ_MSG(test, a, b, ...) \
	PURE_CHECK(test, (a) == (b), 0, __VA_ARGS__)
#define KUNIT_EXPECT_NE_MSG(test, a, b, ...) \
	PURE_CHECK(test, (a) != (b), 0, __VA_ARGS__)
#define KUNIT_EXPECT_GE_MSG(test, a, b, ...) \
	PURE_CHECK(test, (a) >= (b), 0, __VA_ARGS__)
#define KUNIT_EXPECT_FALSE_MSG(test, a, ...) \
	PURE_CHECK(test, !(a), 0, __VA_ARGS__)

#define KUNIT_ASSERT_TRUE(test, a)	PURE_CHECK(test, a, 1, "not %s", #a)
#define KUNIT_ASSERT_FALSE(test, a)	PURE_CHECK(test, !(a), 1, "%s", #a)
#define KUNIT_ASSERT_EQ(test, a, b) \
	PURE_COMPARE(test, (a) == (b), 1, a)
#define KUNIT_ASSERT_LT(test, a, b) \
	PURE_COMPARE(test, (a) < (b), 1, a)
#define KUNIT_ASSERT_LE(test, a, b) \
	PURE_COMPARE(test, (a) <= (b), 1, a)
#define KUNIT_ASSERT_GT(test, a, b) \
	PURE_COMPARE(test, (a) > (b), 1, a)
#define KUNIT_ASSERT_GE(test, a, b) \
	PURE_COMPARE(test, (a) >= (b), 1, a)
#define KUNIT_ASSERT_NOT_NULL(test, a) \
	PURE_CHECK(test, a, 1, "%s is NULL", #a)
#define KUNIT_ASSERT_PTR_EQ(test, a, b) \
	PURE_CHECK(test, (const void *)(a) == (const void *)(b), 1, \
		   "%s is not %s", #a, #b)

static inline void *kunit_kcalloc(struct kunit *test, size_t n, size_t size,
				  int gfp)
{
	void *room = calloc(n, size);

	KUNIT_ASSERT_NOT_NULL(test, room);
	KUNIT_ASSERT_LT(test, test->allocated, ARRAY_SIZE(test->memory));
	test->memory[test->allocated++] = room;
	return room;
}

static inline void *kunit_kzalloc(struct kunit *test, size_t size, int gfp)
{
	return kunit_kcalloc(test, 1, size, gfp);
}

static inline void kunit_kfree(struct kunit *test, const void *room)
{
	unsigned int i;

	for (i = 0; i < test->allocated; i++)
		if (test->memory[i] == room)
			break;
	KUNIT_ASSERT_LT(test, i, test->allocated);
	free(test->memory[i]);
	test->memory[i] = test->memory[--test->allocated];
}

#endif /* PURE_KUNIT_TEST_H */
