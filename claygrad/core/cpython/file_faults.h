/* Note [Files that shrink]
   If another process truncates a mapped file, reading the lost pages raises SIGBUS, which kills the process. For mapped files the
   signal is caught: the lost pages are replaced by zeros, so that the running loop can end, and an exception is raised as soon as
   Python runs again in the main thread. Faults at other addresses go to the former handler of the signal. */
#pragma once
#include <Python.h>

#if defined(_WIN32)
static void clay_guard(char* ptr, int64_t size) {}
static void clay_unguard(char* ptr) {}
#else
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CLAY_GUARDED = 4096 };

static struct { char *begin, *end; } clay_guarded[CLAY_GUARDED];       /* An entry with begin == NULL is free. Written with the interpreter lock held. */
static struct sigaction clay_before;
static size_t clay_page = 0;
static char clay_to_be_told = 0;                /* reported once, even if several threads met it */

static int clay_tell_of_loss(void*) {
    __atomic_store_n(&clay_to_be_told, 0, __ATOMIC_SEQ_CST);
    PyErr_SetString(PyExc_RuntimeError, "a file was truncated while its contents were in use as the memory of a tensor; what it has lost reads "
                                        "as zeros now\n  do not shorten a file that from_file has mapped; read it, or make a copy of the tensor");
    return -1;
}

static void clay_on_fault(int number, siginfo_t* info, void*) {
    char* at = (char*)info->si_addr;
    for (int i = 0; i < CLAY_GUARDED; i++) {
        char *begin = clay_guarded[i].begin, *end = clay_guarded[i].end;
        if (begin == NULL || at < begin || at >= end) continue;
        char* page = begin + (size_t)(at - begin) / clay_page * clay_page;
        if (mmap(page, (size_t)(end - page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) break;
        if (!__atomic_exchange_n(&clay_to_be_told, 1, __ATOMIC_SEQ_CST)) Py_AddPendingCall(clay_tell_of_loss, NULL);
        return;
    }
    sigaction(number, &clay_before, NULL);      /* not a mapped file: the fault repeats, and the former handler gets it */
}

static void clay_guard(char* ptr, int64_t size) {
    if (clay_page == 0) {
        struct sigaction act;
        memset(&act, 0, sizeof act);
        act.sa_sigaction = clay_on_fault;
        act.sa_flags = SA_SIGINFO;
        clay_page = (size_t)sysconf(_SC_PAGESIZE);
        sigaction(SIGBUS, &act, &clay_before);
    }
    for (int i = 0; i < CLAY_GUARDED; i++)
        if (clay_guarded[i].begin == NULL) {
            clay_guarded[i].end = ptr + size;
            clay_guarded[i].begin = ptr;
            return;
        }
}

static void clay_unguard(char* ptr) {
    for (int i = 0; ptr != NULL && i < CLAY_GUARDED; i++)
        if (clay_guarded[i].begin == ptr) {
            clay_guarded[i].begin = NULL;
            return;
        }
}
#endif
