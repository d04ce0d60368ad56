/* How long it takes until so many new files are on disk: synced by sixteen threads, as an edit does it, by one call of
 * io_uring, and one after the other. Linux.
 *
 *     cc -O2 -pthread benches/floors/syncs.c -o syncs
 *     ./syncs DIRECTORY FILES BYTES RUNS
 */
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 16, MOST = 64, MOST_RUNS = 1000 };

static int files[MOST], count;

static void check(int is_good, const char *what) {
    if (!is_good) {
        perror(what);
        exit(1);
    }
}

static double milliseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static void one_after_the_other(void) {
    for (int i = 0; i < count; i++)
        check(fsync(files[i]) == 0, "fsync");
}

static atomic_int next;

static void *sync_next(void *unused) {
    for (int i; (i = atomic_fetch_add(&next, 1)) < count;)
        check(fsync(files[i]) == 0, "fsync");
    return unused;
}

static void by_threads(void) {
    pthread_t others[THREADS - 1];
    int most = (count < THREADS ? count : THREADS) - 1;
    atomic_store(&next, 0);
    for (int i = 0; i < most; i++)
        check(pthread_create(&others[i], NULL, sync_next, NULL) == 0, "pthread_create");
    sync_next(NULL);
    for (int i = 0; i < most; i++)
        pthread_join(others[i], NULL);
}

static int ring;
static _Atomic unsigned *asked, *answered, *taken;
static unsigned *slots, slot_mask, answer_mask;
static struct io_uring_sqe *questions;
static struct io_uring_cqe *answers;

static void set_up(void) {
    struct io_uring_params at = {0};
    ring = syscall(__NR_io_uring_setup, MOST, &at);
    check(ring >= 0, "io_uring_setup");
    size_t of_slots = at.sq_off.array + at.sq_entries * sizeof *slots;
    size_t of_answers = at.cq_off.cqes + at.cq_entries * sizeof *answers;
    char *shared = mmap(NULL, of_slots > of_answers ? of_slots : of_answers, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
    check(shared != MAP_FAILED, "mmap");
    questions = mmap(NULL, at.sq_entries * sizeof *questions, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring,
                     IORING_OFF_SQES);
    check(questions != MAP_FAILED, "mmap");
    asked = (void *)(shared + at.sq_off.tail);
    slots = (void *)(shared + at.sq_off.array);
    slot_mask = *(unsigned *)(shared + at.sq_off.ring_mask);
    taken = (void *)(shared + at.cq_off.head);
    answered = (void *)(shared + at.cq_off.tail);
    answers = (void *)(shared + at.cq_off.cqes);
    answer_mask = *(unsigned *)(shared + at.cq_off.ring_mask);
}

static void by_io_uring(void) {
    unsigned end = *asked;
    for (int i = 0; i < count; i++, end++) {
        unsigned slot = end & slot_mask;
        questions[slot] = (struct io_uring_sqe){.opcode = IORING_OP_FSYNC, .fd = files[i]};
        slots[slot] = slot;
    }
    atomic_store(asked, end);
    check(syscall(__NR_io_uring_enter, ring, count, count, IORING_ENTER_GETEVENTS, NULL, 0) == count, "io_uring_enter");
    unsigned at = *taken;
    for (; at != atomic_load(answered); at++)
        check(answers[at & answer_mask].res == 0, "fsync by io_uring");
    atomic_store(taken, at);
}

static int by_size(const void *one, const void *other) {
    double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*sync)(void);
    } ways[] = {{"threads", by_threads}, {"io_uring", by_io_uring}, {"one after the other", one_after_the_other}};
    static double took[3][MOST_RUNS];
    if (argc != 5) {
        fprintf(stderr, "usage: %s DIRECTORY FILES BYTES RUNS\n", argv[0]);
        return 2;
    }
    count = atoi(argv[2]);
    int bytes = atoi(argv[3]), runs = atoi(argv[4]);
    if (count < 1 || count > MOST || bytes < 1 || runs < 1 || runs > MOST_RUNS) {
        fprintf(stderr, "at most %d files, and %d runs\n", MOST, MOST_RUNS);
        return 2;
    }
    char *text = malloc(bytes);
    check(text != NULL, "malloc");
    memset(text, 'x', bytes);
    set_up();
    /* The ways take turns on the same disk. */
    for (int run = 0; run < runs; run++)
        for (int way = 0; way < 3; way++) {
            for (int i = 0; i < count; i++) {
                char path[4096];
                snprintf(path, sizeof path, "%s/synced-%d", argv[1], i);
                unlink(path);
                files[i] = open(path, O_CREAT | O_EXCL | O_WRONLY, 0644);
                check(files[i] >= 0 && write(files[i], text, bytes) == bytes, path);
            }
            double begun = milliseconds();
            ways[way].sync();
            took[way][run] = milliseconds() - begun;
            for (int i = 0; i < count; i++)
                close(files[i]);
        }
    for (int i = 0; i < count; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/synced-%d", argv[1], i);
        unlink(path);
    }
    for (int way = 0; way < 3; way++) {
        qsort(took[way], runs, sizeof took[way][0], by_size);
        printf("%-20s %.3f ms (median of %d; quartiles %.3f and %.3f)\n", ways[way].name, took[way][runs / 2], runs,
               took[way][runs / 4], took[way][runs * 3 / 4]);
    }
}
