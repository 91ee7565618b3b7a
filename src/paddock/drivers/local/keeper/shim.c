/* The shim as a program: what shim.py says in shell, and does where this was not compiled.
 *
 * A shell takes 0.7 ms to begin, a program that is linked to libc still 0.5, this one 0.1: so it
 * has no libc, and the few calls it makes are below. Same arguments, same report, same codes.
 *
 * SHIM REPORT UMASK NOFILE OOM_SCORE_ADJ CWD COUNT CGROUP... COMMAND...
 */

enum { NO_ENTRY = 2, TOO_LONG = 36, NOT_PERMITTED = 13, NOT_A_PROGRAM = 8, NOT_A_DIRECTORY = 20 };
enum { WRITE_ONLY = 1, CREATE = 0100, APPEND = 02000, CLOSE_ON_EXEC = 02000000 };
enum { HERE = -100, OPEN_FILES = 7, IGNORED = 1, SIGUSR1 = 10, SIGUSR2 = 12 };
enum { LONGEST = 4096 };

#if defined(__x86_64__)
enum { WRITE = 1, CLOSE = 3, SIGACTION = 13, EXECVE = 59, CHDIR = 80, UMASK = 95 };
enum { EXIT_GROUP = 231, OPENAT = 257, FACCESSAT = 269, PRLIMIT = 302 };

static long ask(long number, long a, long b, long c, long d)
{
    long answer;
    register long fourth __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(answer)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
                     : "rcx", "r11", "memory");
    return answer;
}

__asm__(".globl _start\n_start:\n mov %rsp, %rdi\n and $-16, %rsp\n call run\n");
#elif defined(__aarch64__)
enum { WRITE = 64, CLOSE = 57, SIGACTION = 134, EXECVE = 221, CHDIR = 49, UMASK = 166 };
enum { EXIT_GROUP = 94, OPENAT = 56, FACCESSAT = 48, PRLIMIT = 261 };

static long ask(long number, long a, long b, long c, long d)
{
    register long which __asm__("x8") = number;
    register long first __asm__("x0") = a;
    register long second __asm__("x1") = b;
    register long third __asm__("x2") = c;
    register long fourth __asm__("x3") = d;
    __asm__ volatile("svc 0"
                     : "+r"(first)
                     : "r"(which), "r"(second), "r"(third), "r"(fourth)
                     : "memory");
    return first;
}

__asm__(".globl _start\n_start:\n mov x0, sp\n bl run\n");
#else
#error "not for this machine: the shell's shim is used"
#endif

static const char *report;

static long length(const char *text)
{
    long count = 0;
    while (text[count])
        count++;
    return count;
}

static int begins(const char *text, const char *with)
{
    while (*with)
        if (*text++ != *with++)
            return 0;
    return 1;
}

/* What comes after it, or nothing if that would be too long. */
static char *copied(char *to, const char *end, const char *text)
{
    while (*text && to < end)
        *to++ = *text++;
    *to = 0;
    return *text ? 0 : to;
}

static long number(const char *text, int base)
{
    long found = 0;
    while (*text >= '0' && *text < '0' + base)
        found = found * base + (*text++ - '0');
    return found;
}

static int written(const char *path, int flags, const char *text)
{
    long file = ask(OPENAT, HERE, (long)path, WRITE_ONLY | CLOSE_ON_EXEC | flags, 0600);
    if (file < 0)
        return 0;
    long size = length(text), done = ask(WRITE, file, (long)text, size, 0);
    ask(CLOSE, file, 0, 0, 0);
    return done == size;
}

static void tell(const char *line)
{
    written(report, CREATE | APPEND, line);
}

static void leave(const char *line, long code)
{
    tell(line);
    for (;;)
        ask(EXIT_GROUP, code, 0, 0, 0);
}

static void ignore(long signal)
{
    struct {
        long handler, flags, restorer, mask;
    } ignored = {IGNORED, 0, 0, 0};
    ask(SIGACTION, signal, (long)&ignored, 0, 8);
}

static void set_open_files(const char *most)
{
    unsigned long limits[2];
    if (ask(PRLIMIT, 0, OPEN_FILES, 0, (long)limits) == 0) {
        limits[0] = (unsigned long)number(most, 10);
        if (ask(PRLIMIT, 0, OPEN_FILES, (long)limits, 0) == 0)
            return;
    }
    tell("note nofile\n");
}

/* Returns only if it cannot be: with the kernel's reason. */
static long become(const char *path, char **command, char **environment)
{
    long reason = -ask(EXECVE, (long)path, (long)command, (long)environment, 0);
    if (reason == NOT_A_PROGRAM) { /* a script without its first line: the shell runs it */
        command[0] = (char *)path;
        command[-1] = (char *)"/bin/sh";
        reason = -ask(EXECVE, (long)command[-1], (long)(command - 1), (long)environment, 0);
    }
    return reason;
}

static long code_for(long reason, const char *path)
{
    if (reason != NO_ENTRY && reason != NOT_A_DIRECTORY)
        return 126;
    return ask(FACCESSAT, HERE, (long)path, 0, 0) == 0 ? 126 : 127; /* or its interpreter is not */
}

static long search(char **command, char **environment)
{
    static char path[2 * LONGEST];
    const char *name = command[0], *places = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    const char *end = path + sizeof path - 1;
    long code = 127;
    for (char **each = environment; *each; each++)
        if (begins(*each, "PATH="))
            places = *each + 5;
    for (;;) {
        char *at = path;
        while (*places && *places != ':' && at < end)
            *at++ = *places++;
        int fits = !*places || *places == ':';
        while (*places && *places != ':')
            places++;
        at = at == path ? copied(at, end, "./") : copied(at, end, "/");
        if (fits && at && copied(at, end, name)) {
            long reason = become(path, command, environment);
            command[0] = (char *)name;
            if (reason != TOO_LONG && code_for(reason, path) == 126)
                code = 126;
        }
        if (!*places++)
            return code;
    }
}

static int has_slash(const char *text)
{
    for (; *text; text++)
        if (*text == '/')
            return 1;
    return 0;
}

__attribute__((used)) void run(long *stack)
{
    long count = stack[0];
    char **words = (char **)(stack + 1), **environment = words + count + 1;
    if (count < 8)
        for (;;)
            ask(EXIT_GROUP, 125, 0, 0, 0);
    report = words[1];
    const char *score = words[4], *directory = words[5];
    ignore(SIGUSR1);
    ignore(SIGUSR2);
    ask(UMASK, number(words[2], 8), 0, 0, 0);
    if (words[3][0] != '-')
        set_open_files(words[3]);
    long cgroups = number(words[6], 10);
    if (count < 8 + cgroups)
        leave("fail start\n", 125);
    char **command = words + 7;
    for (; cgroups > 0; cgroups--)
        if (!written(*command++, 0, "0"))
            leave("fail cgroup\n", 125);
    if (!(score[0] == '-' && !score[1]) && !written("/proc/self/oom_score_adj", 0, score))
        tell("note oom_score_adj\n");
    if (ask(CHDIR, (long)directory, 0, 0, 0) != 0)
        leave("fail cwd\n", 125);
    const char *name = command[0];
    long code = 127;
    if (has_slash(name))
        code = code_for(become(name, command, environment), name);
    else if (name[0])
        code = search(command, environment);
    leave("fail exec\n", code);
}
