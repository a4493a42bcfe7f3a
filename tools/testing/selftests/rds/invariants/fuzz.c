// SPDX-License-Identifier: GPL-2.0
/*
 * Random sequences of calls on RDS sockets, guided by KCOV: a case that reaches
 * a place in the modules that no case has reached before is kept, and cases
 * that are kept are changed and joined to make others. Where the kernel has no
 * KCOV the cases are as random, but nothing guides them.
 *
 * The calls have to return, plain messages have to work afterwards, and the
 * modules must not stay in use. The kernel's own checks find everything else.
 *
 *	fuzz			run new cases
 *	fuzz replay FILE [N [THREADS]]
 *				run the cases of a file, N times
 *	fuzz minimize FILE [TO]	write the first case of a file without the calls
 *				that do not change what it reaches (or that the
 *				kernel complains about it)
 *	fuzz distill FILE [TO]	write what is needed of the cases of a file, to
 *				reach all that they reach. After RDS_SECONDS it
 *				no longer removes calls.
 *
 * RDS_SECONDS is how long to run, 20 by default. RDS_SEED, which is printed,
 * begins the choices; which case gets which choice depends on how long cases
 * take, so the same seed does not repeat a run. RDS_CORPUS is
 * a directory, or a file, of cases to begin with, in addition to those of
 * fuzz.corpus; a directory also gets the cases that are kept.
 * RDS_BLIND=1 measures the coverage without making use of it. RDS_KCOV=1, for
 * which scripts/build has the modules for the debug kernel traced, expects some
 * coverage.
 */
#include "loop.h"

#include <limits.h>
#include <sys/stat.h>

#include "fuzz_corpus.h"
#include "fuzz_log.h"

#define REPORT_MS	10000
/*
 * How many cases run at the same time. To close a socket takes a grace period
 * of RCU, in which others can go on.
 */
#define LANES		4

struct progress {
	long ms;
	unsigned long cases;
	unsigned long calls;
	unsigned int places;
};

static int arg_count = 1;
static char **args;

static struct fuzz_corpus corpus;
static struct fuzz_run runs[LANES];
/* The cases that they run; they stay readable when a lane has ended. */
static struct fuzz_case cases[LANES];
static atomic_uint lanes_left;
static bool blind;

/* What the lanes share, and the lock for it */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fuzz_places reached;
static struct fuzz_random rng;
static unsigned int seeds, first_seed, seeds_run;
static long begin_ms;
static struct progress last;
static char keep_path[PATH_MAX];

static unsigned long long setting(const char *name, unsigned long long other)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : other;
}

static long end_ms(void)
{
	return begin_ms + setting("RDS_SECONDS", 20) * 1000;
}

static bool command(const char *name)
{
	return arg_count > 2 && !strcmp(args[1], name);
}

static void report_case(const char *what, const struct fuzz_case *c)
{
	printf("# %s:\n", what);
	fuzz_write(stdout, c);
	fflush(stdout);
}

/* What each lane runs. With the lock no lane begins another case. */
static void report_cases(void)
{
	unsigned int i;

	for (i = 0; i < LANES; i++)
		if (runs[i].current)
			report_case("the kernel complained during, or before",
				    runs[i].current);
}

/* Run a case. Returns the number of new places. */
static unsigned int try_case(struct fuzz_run *run, const struct fuzz_case *c)
{
	unsigned int new;

	fuzz_run_case(run, c);
	pthread_mutex_lock(&lock);
	new = fuzz_run_reached(run, &reached);
	if (fuzz_log_complains())
		report_cases();
	pthread_mutex_unlock(&lock);
	return new;
}

/*
 * Choose one of the corpus, which begins anywhere because a slow kernel has no
 * time for all of them, or a new one. Returns whether it is new.
 */
static bool choose_case(struct fuzz_case *c)
{
	const struct fuzz_case *other;
	bool new = true;

	pthread_mutex_lock(&lock);
	if (seeds_run < seeds && fuzz_below(&rng, 3)) {
		*c = corpus.kept[(first_seed + seeds_run++) % seeds];
		new = false;
	} else if (!corpus.count || !fuzz_below(&rng, 20)) {
		fuzz_generate(c, &rng);
	} else {
		*c = corpus.kept[fuzz_below(&rng, corpus.count)];
		other = &corpus.kept[fuzz_below(&rng, corpus.count)];
		fuzz_mutate(c, other, &rng);
	}
	pthread_mutex_unlock(&lock);
	return new;
}

static void keep_case(const struct fuzz_case *c)
{
	pthread_mutex_lock(&lock);
	fuzz_corpus_add(&corpus, c, &rng);
	if (keep_path[0])
		fuzz_corpus_append(keep_path, c);
	pthread_mutex_unlock(&lock);
}

static void count(struct progress *now)
{
	unsigned int i;

	*now = (struct progress) { .ms = now_ms(), .places = reached.count };
	for (i = 0; i < LANES; i++) {
		now->cases += runs[i].cases;
		now->calls += fuzz_run_calls(&runs[i]);
	}
}

/* What has happened since @since, and what there is now */
static void report(const struct progress *now, const struct progress *since)
{
	double seconds = (now->ms - since->ms + 1) / 1000.0;

	printf("# %ld s: %.1f cases/s, %.1f calls/s, ",
	       (now->ms - begin_ms) / 1000,
	       (now->cases - since->cases) / seconds,
	       (now->calls - since->calls) / seconds);
	printf("%u places, %u new, %u kept, %u of %u old cases\n", now->places,
	       now->places - since->places, corpus.count, seeds_run, seeds);
	fflush(stdout);
}

static void report_sometimes(void)
{
	struct progress now;

	pthread_mutex_lock(&lock);
	count(&now);
	if (now.ms - last.ms >= REPORT_MS) {
		report(&now, &last);
		last = now;
	}
	pthread_mutex_unlock(&lock);
}

static void run_fuzz(struct fuzz_run *run)
{
	struct fuzz_case *c = &cases[run->lane];
	bool new;

	if (!run->lane && !run->worker[0].trace.area)
		printf("# no KCOV: nothing guides the cases\n");
	while (now_ms() < end_ms()) {
		new = choose_case(c);
		if (try_case(run, c) && new && !blind)
			keep_case(c);
		report_sometimes();
	}
}

static void run_replay(struct fuzz_run *run)
{
	unsigned int times = arg_count > 3 ? atoi(args[3]) : 1;
	unsigned int threads = arg_count > 4 ? atoi(args[4]) : 0;
	struct fuzz_case *c = &cases[run->lane];
	unsigned int i, j;

	for (i = 0; i < times; i++)
		for (j = 0; j < corpus.count; j++) {
			*c = corpus.kept[j];
			if (threads && threads <= FUZZ_THREADS)
				c->threads = threads;
			try_case(run, c);
		}
	printf("# %u cases, %u times: %u places\n", corpus.count, times,
	       reached.count);
}

static FILE *output(void)
{
	FILE *file = arg_count > 3 ? fopen(args[3], "w") : stdout;

	if (!file)
		exit(KSFT_FAIL);
	setlinebuf(file);
	return file;
}

/* The thread of a lane. Another one watches over it. */
static void *fuzz_main(void *data)
{
	struct fuzz_run *run = data;

	fuzz_run_begin(run);
	if (command("replay")) {
		run_replay(run);
	} else if (command("minimize")) {
		fuzz_minimize(run, &corpus.kept[0]);
		fuzz_write(output(), &corpus.kept[0]);
	} else if (command("distill")) {
		fuzz_distill(run, &corpus, output(), end_ms());
	} else {
		run_fuzz(run);
	}
	fuzz_run_end(run);
	pthread_mutex_lock(&lock);
	run->current = NULL;
	pthread_mutex_unlock(&lock);
	lanes_left--;
	return NULL;
}

static void interrupt(int sig)
{
}

/* The corpus is beside the program. */
static bool load_corpus(void)
{
	const char *path = getenv("RDS_CORPUS");
	char own[PATH_MAX];
	struct stat st;
	ssize_t len;

	if (arg_count > 2)
		return fuzz_corpus_load(&corpus, args[2]);
	len = readlink("/proc/self/exe", own, sizeof(own) - 8);
	if (len < 0)
		return false;
	strcpy(own + len, ".corpus");
	if (!fuzz_corpus_load(&corpus, own)) {
		printf("# %s cannot be read\n", own);
		return false;
	}
	if (!path)
		return true;
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		snprintf(keep_path, sizeof(keep_path), "%s/kept", path);
	return fuzz_corpus_load(&corpus, path);
}

static bool watch(void)
{
	unsigned int lanes = arg_count > 2 ? 1 : LANES;
	pthread_t thread[LANES];
	struct progress now;
	unsigned int i;

	lanes_left = lanes;
	for (i = 0; i < lanes; i++)
		if (pthread_create(&thread[i], NULL, fuzz_main, &runs[i]))
			return false;
	while (lanes_left) {
		usleep(FUZZ_LOOK_MS * 1000);
		for (i = 0; i < lanes; i++)
			if (!fuzz_run_look(&runs[i])) {
				report_case("a call does not end",
					    runs[i].current);
				return false;
			}
	}
	for (i = 0; i < lanes; i++)
		pthread_join(thread[i], NULL);
	count(&now);
	report(&now, &(struct progress) { .ms = begin_ms });
	return true;
}

/* Was anything tested? Cases of a file may need anything. */
static bool was_useful(void)
{
	bool traced = setting("RDS_KCOV", 0);

	if (arg_count > 2)
		return true;
	if (!fuzz_scene_was_used())
		printf("# no socket of a type was opened\n");
	if (traced && !reached.count)
		printf("# the modules are not traced\n");
	return fuzz_scene_was_used() && (!traced || reached.count);
}

static void start(unsigned long long seed)
{
	rng.state = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	blind = setting("RDS_BLIND", 0);
	seeds = corpus.count;
	first_seed = seeds ? fuzz_below(&rng, seeds) : 0;
	begin_ms = now_ms();
	last.ms = begin_ms;
}

TEST_F_TIMEOUT(loop, i4_random_calls, LONG)
{
	struct sigaction action = { .sa_handler = interrupt };
	unsigned long long seed = setting("RDS_SEED", time(NULL));
	unsigned int i;

	printf("# RDS_SECONDS=%llu RDS_SEED=%llu\n",
	       setting("RDS_SECONDS", 20), seed);
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	signal(SIGPIPE, SIG_IGN);
	ASSERT_TRUE(fuzz_scene_init());
	printf("# there is %s RDMA device\n",
	       fuzz_scene_has_rdma() ? "an" : "no");
	for (i = 0; i < LANES; i++)
		ASSERT_TRUE(fuzz_run_init(&runs[i], i));
	ASSERT_TRUE(fuzz_places_init(&reached));
	ASSERT_TRUE(load_corpus());
	fuzz_log_open();
	start(seed);

	ASSERT_TRUE(watch());
	EXPECT_TRUE(was_useful());
	fuzz_scene_end();
	rds_drain(self->b);
	EXPECT_TRUE(loop_works(self->a, self->b, &self->b_name, 64));
}

/* The harness takes no words of its own. */
#define main harness_main
TEST_HARNESS_MAIN
#undef main

int main(int argc, char **argv)
{
	arg_count = argc;
	args = argv;
	if (argc == 2 || (argc > 2 && !command("replay") &&
			  !command("minimize") && !command("distill"))) {
		fprintf(stderr, "usage: see the head of fuzz.c\n");
		return KSFT_FAIL;
	}
	return harness_main(1, argv);
}
