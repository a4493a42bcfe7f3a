// SPDX-License-Identifier: GPL-2.0
/* Run the suites that are linked to this program, and report in TAP. */
#include <kunit/test.h>

static const struct kunit_suite *suites[32];
static unsigned int count;

void pure_add_suite(const struct kunit_suite *suite)
{
	assert(count < ARRAY_SIZE(suites));
	suites[count++] = suite;
}

static unsigned int run_once(const struct kunit_case *c, const void *param)
{
	/* It is read after longjmp(). */
	static struct kunit test;

	test = (struct kunit){ .param_value = param };
	if (!setjmp(test.stop))
		c->run_case(&test);
	while (test.allocated)
		free(test.memory[--test.allocated]);
	return test.failures;
}

static unsigned int run_case(const struct kunit_case *c)
{
	char desc[KUNIT_PARAM_DESC_SIZE] = "";
	unsigned int failures = 0, once;
	const void *param = NULL;

	if (!c->generate_params)
		return run_once(c, NULL);
	while ((param = c->generate_params(param, desc))) {
		once = run_once(c, param);
		if (once)
			printf("# with %s\n", desc);
		failures += once;
	}
	return failures;
}

int main(void)
{
	unsigned int i, number = 0, failed = 0;
	const struct kunit_case *c;
	bool ok;

	/* What was printed is not lost if a sanitizer ends the program. */
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < count; i++) {
		for (c = suites[i]->test_cases; c->run_case; c++) {
			ok = !run_case(c);
			failed += !ok;
			printf("%sok %u - %s.%s\n", ok ? "" : "not ", ++number,
			       suites[i]->name, c->name);
		}
	}
	return failed || !number;
}
