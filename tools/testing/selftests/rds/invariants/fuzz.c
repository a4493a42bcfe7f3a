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
 *	fuzz minimize FILE	print the first case of a file without the calls
 *				that do not change what it reaches (or that the
 *				kernel complains about it)
 *	fuzz distill FILE	print what is needed of the cases of a file, to
 *				reach all that they reach
 *
 * RDS_SECONDS is how long to run, 20 by default. RDS_SEED, which is printed,
 * repeats the choices, as far as the kernel repeats what it does. RDS_CORPUS is
 * a directory, or a file, of cases to begin with, in addition to those of
 * fuzz.corpus; a directory also gets the cases that are kept.
 * RDS_BLIND=1 measures the coverage without making use of it.
 */
#include "loop.h"

#include <limits.h>
#include <sys/stat.h>

#include "fuzz_corpus.h"
#include "fuzz_log.h"

#define REPORT_MS	10000

struct progress {
	long ms;
	unsigned long cases;
	unsigned int places;
};

static int arg_count = 1;
static char **args;

static struct fuzz_corpus corpus;
static struct fuzz_run run;
static struct fuzz_places reached;
static struct fuzz_random rng;
static atomic_bool finished;
static long end_ms;
static bool blind;
static char keep_path[PATH_MAX];

static unsigned long long setting(const char *name, unsigned long long other)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : other;
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

/* Run a case; keep it if it is worth it. Returns the number of new places. */
static unsigned int try_case(const struct fuzz_case *c)
{
	unsigned int new;

	fuzz_run_case(&run, c);
	new = fuzz_run_reached(&run, &reached);
	if (fuzz_log_complains())
		report_case("the kernel complained during, or before", c);
	return new;
}

static void try_new_case(void)
{
	static struct fuzz_case c;

	if (!corpus.count || !fuzz_below(&rng, 20)) {
		fuzz_generate(&c, &rng);
	} else {
		c = corpus.kept[fuzz_below(&rng, corpus.count)];
		fuzz_mutate(&c, &corpus.kept[fuzz_below(&rng, corpus.count)],
			    &rng);
	}
	if (!try_case(&c) || blind)
		return;
	fuzz_corpus_add(&corpus, &c, &rng);
	if (keep_path[0])
		fuzz_corpus_append(keep_path, &c);
}

/* What has happened since @since, and what there is now */
static void report(long begin, const struct progress *since)
{
	long now = now_ms();

	printf("# %ld s: %.1f cases/s, %lu calls, %u places, %u new, %u kept\n",
	       (now - begin) / 1000,
	       (run.cases - since->cases) * 1000.0 / (now - since->ms + 1),
	       fuzz_run_calls(&run), reached.count,
	       reached.count - since->places, corpus.count);
	fflush(stdout);
}

static void report_sometimes(long begin, struct progress *last)
{
	if (now_ms() - last->ms < REPORT_MS)
		return;
	report(begin, last);
	last->ms = now_ms();
	last->cases = run.cases;
	last->places = reached.count;
}

/* Run the cases of the corpus, and new ones in between. */
static void run_fuzz(void)
{
	unsigned int seeds = corpus.count, first, i = 0;
	long begin = now_ms();
	struct progress last = { .ms = begin };
	const struct progress none = last;
	bool all_run = false;

	if (!run.worker[0].trace.area)
		printf("# no KCOV: nothing guides the cases\n");
	end_ms = begin + setting("RDS_SECONDS", 20) * 1000;
	/* A slow kernel has no time for all of them, so begin anywhere. */
	first = seeds ? fuzz_below(&rng, seeds) : 0;
	while (now_ms() < end_ms) {
		if (i < seeds && fuzz_below(&rng, 3))
			try_case(&corpus.kept[(first + i++) % seeds]);
		else
			try_new_case();
		if (i == seeds && !all_run)
			printf("# all cases of the corpus have run\n");
		all_run = i == seeds;
		report_sometimes(begin, &last);
	}
	report(begin, &none);
}

static void run_replay(void)
{
	unsigned int times = arg_count > 3 ? atoi(args[3]) : 1;
	unsigned int threads = arg_count > 4 ? atoi(args[4]) : 0;
	unsigned int i, j;

	for (i = 0; i < times; i++)
		for (j = 0; j < corpus.count; j++) {
			struct fuzz_case c = corpus.kept[j];

			if (threads && threads <= FUZZ_THREADS)
				c.threads = threads;
			try_case(&c);
		}
	printf("# %u cases, %u times: %u places\n", corpus.count, times,
	       reached.count);
}

/* The thread that runs the cases. The other one watches over it. */
static void *fuzz_main(void *data)
{
	unsigned int i;

	fuzz_run_begin(&run);
	if (command("replay")) {
		run_replay();
	} else if (command("minimize")) {
		fuzz_minimize(&run, &corpus.kept[0]);
		report_case("minimized", &corpus.kept[0]);
	} else if (command("distill")) {
		fuzz_distill(&run, &corpus, &rng);
		for (i = 0; i < corpus.count; i++)
			fuzz_write(stdout, &corpus.kept[i]);
	} else {
		run_fuzz();
	}
	fuzz_run_end(&run);
	finished = true;
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
	if (len > 0) {
		strcpy(own + len, ".corpus");
		if (!fuzz_corpus_load(&corpus, own))
			printf("# %s cannot be read\n", own);
	}
	if (!path)
		return true;
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		snprintf(keep_path, sizeof(keep_path), "%s/kept", path);
	return fuzz_corpus_load(&corpus, path);
}

static bool watch(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, fuzz_main, NULL);
	while (!finished) {
		usleep(FUZZ_LOOK_MS * 1000);
		if (!fuzz_run_look(&run)) {
			report_case("a call does not end", run.current);
			return false;
		}
	}
	pthread_join(thread, NULL);
	return true;
}

TEST_F_TIMEOUT(loop, i4_random_calls, LONG)
{
	struct sigaction action = { .sa_handler = interrupt };
	unsigned long long seed = setting("RDS_SEED", time(NULL));

	printf("# RDS_SECONDS=%llu RDS_SEED=%llu\n",
	       setting("RDS_SECONDS", 20), seed);
	rng.state = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	blind = setting("RDS_BLIND", 0);
	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	signal(SIGPIPE, SIG_IGN);
	ASSERT_TRUE(fuzz_scene_init());
	ASSERT_TRUE(fuzz_run_init(&run));
	ASSERT_TRUE(fuzz_places_init(&reached));
	ASSERT_TRUE(load_corpus());
	fuzz_log_open();

	ASSERT_TRUE(watch());
	EXPECT_LT(0, run.cases);
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
	return harness_main(1, argv);
}
