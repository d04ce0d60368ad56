//! Runs something on a thread whose system calls on files the kernel puts to this process first, one by one,
//! by `SECCOMP_RET_USER_NOTIF` (`seccomp_unotify(2)`). So a test chooses which of them fails, and how,
//! without a tracer and a process of its own.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::sync::mpsc;
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The calls that are asked about, by number and name: those that change a file or a name, look at one, lock
/// one, or confine. Calls that give something up (`close`) cannot fail in a way that matters.
const ASKED: [(libc::c_long, &str); 30] = [
    (libc::SYS_openat, "openat"),
    (libc::SYS_openat2, "openat2"),
    (libc::SYS_newfstatat, "newfstatat"),
    (libc::SYS_statx, "statx"),
    (libc::SYS_readlinkat, "readlinkat"),
    (libc::SYS_getdents64, "getdents64"),
    (libc::SYS_faccessat2, "faccessat2"),
    (libc::SYS_pread64, "pread64"),
    (libc::SYS_read, "read"),
    (libc::SYS_write, "write"),
    (libc::SYS_pwrite64, "pwrite64"),
    (libc::SYS_copy_file_range, "copy_file_range"),
    (libc::SYS_ftruncate, "ftruncate"),
    (libc::SYS_fallocate, "fallocate"),
    (libc::SYS_fsync, "fsync"),
    (libc::SYS_fdatasync, "fdatasync"),
    (libc::SYS_renameat, "renameat"),
    (libc::SYS_renameat2, "renameat2"),
    (libc::SYS_linkat, "linkat"),
    (libc::SYS_unlinkat, "unlinkat"),
    (libc::SYS_mkdirat, "mkdirat"),
    (libc::SYS_fchmod, "fchmod"),
    (libc::SYS_fchown, "fchown"),
    (libc::SYS_fgetxattr, "fgetxattr"),
    (libc::SYS_flistxattr, "flistxattr"),
    (libc::SYS_fsetxattr, "fsetxattr"),
    (libc::SYS_flock, "flock"),
    (libc::SYS_fcntl, "fcntl"),
    (libc::SYS_memfd_create, "memfd_create"),
    (libc::SYS_landlock_create_ruleset, "landlock_create_ruleset"),
];

/// A system call that has not been made yet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SystemCall {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its arguments.
    pub(crate) arguments: [u64; 6],
}

impl SystemCall {
    /// Tells whether it asks for a lease or gives one up (fcntl(2)).
    pub(crate) fn is_lease(&self) -> bool {
        self.name == "fcntl" && self.low(1) == libc::F_SETLEASE.to_le_bytes()
    }

    /// Tells whether it looks at a file. The library takes the older call once the newer one was refused.
    pub(crate) fn is_look(&self) -> bool {
        ["statx", "newfstatat"].contains(&self.name)
    }

    /// Tells whether it waits until something is on disk.
    pub(crate) fn is_sync(&self) -> bool {
        ["fsync", "fdatasync"].contains(&self.name)
    }

    /// Tells whether much depends on it: it gives or takes a name, waits for the disk, or writes a record.
    pub(crate) fn is_decisive(&self) -> bool {
        let is_write = || ["write", "ftruncate"].contains(&self.name);
        ["renameat", "renameat2", "linkat", "unlinkat", "fsync", "fdatasync"].contains(&self.name)
            || is_write() && self.file(0).contains("/state/journal/")
    }

    /// Returns the path of the file to which the argument of this number is a descriptor.
    pub(crate) fn file(&self, argument: usize) -> String {
        let link = format!("/proc/self/fd/{}", i32::from_le_bytes(self.low(argument)));
        std::fs::read_link(link).map_or_else(|_| String::new(), |path| path.to_string_lossy().into_owned())
    }

    /// Returns the path to which the argument of this number points, as it was given.
    pub(crate) fn path(&self, argument: usize) -> String {
        let Ok(memory) = File::open("/proc/thread-self/mem") else { return String::new() };
        let mut bytes = Vec::new();
        let mut byte = [0];
        while memory
            .read_at(&mut byte, self.arguments[argument] + bytes.len() as u64)
            .is_ok_and(|read| read == 1)
            && byte[0] != 0
        {
            bytes.push(byte[0]);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Returns the low half of an argument, which is an `int` of C.
    pub(crate) fn low(&self, argument: usize) -> [u8; 4] {
        let [a, b, c, d, ..] = self.arguments[argument].to_le_bytes();
        [a, b, c, d]
    }
}

/// Shows the name, and the path of what it is about.
impl fmt::Display for SystemCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, .. } = self;
        match *name {
            "openat" | "openat2" | "newfstatat" | "statx" | "readlinkat" | "faccessat2" | "unlinkat"
            | "mkdirat" => {
                write!(f, "{name} {}/{}", self.file(0), self.path(1))
            }
            "renameat" | "renameat2" | "linkat" => {
                write!(f, "{name} {}/{} {}/{}", self.file(0), self.path(1), self.file(2), self.path(3))
            }
            _ => write!(f, "{name} {}", self.file(0)),
        }
    }
}

/// Runs `work` on a thread of its own, and has `answer` decide on each system call of that thread, and of
/// those that it starts: it is made, or fails with the error that is returned. Fails, with a word, if the
/// kernel, or who started this process, does not allow this.
pub(crate) fn asked<T: Send>(
    mut answer: impl FnMut(&SystemCall) -> Option<Errno>,
    work: impl FnOnce() -> T + Send,
) -> io::Result<T> {
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let worker = scope.spawn(move || {
            let listener = listen()?;
            sender.send(listener).ok();
            Ok(work())
        });
        if let Ok(listener) = receiver.recv() {
            while let Some(asked) = next(&listener, || worker.is_finished())? {
                let (_, name) = ASKED
                    .iter()
                    .find(|(number, _)| *number == libc::c_long::from(asked.data.nr))
                    .copied()
                    .unwrap();
                let error = answer(&SystemCall { name, arguments: asked.data.args });
                reply(&listener, asked.id, error)?;
            }
        }
        let done = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        done.inspect_err(|error| eprintln!("skipped: the kernel does not ask about system calls: {error}"))
    })
}

/// Has the system calls of this thread asked about from now on.
#[expect(unsafe_code, reason = "no crate at hand has seccomp(2) with a listener")]
fn listen() -> io::Result<OwnedFd> {
    let load = libc::sock_filter { code: 0x20, jt: 0, jf: 0, k: 0 }; // BPF_LD | BPF_W | BPF_ABS: the number
    let is = |index: usize, number: libc::c_long| libc::sock_filter {
        code: 0x15, // BPF_JMP | BPF_JEQ | BPF_K
        jt: u8::try_from(ASKED.len() - index).unwrap(),
        jf: 0,
        k: u32::try_from(number).unwrap(),
    };
    let end = |k| libc::sock_filter { code: 0x06, jt: 0, jf: 0, k }; // BPF_RET | BPF_K
    let mut filter = vec![load];
    filter.extend(ASKED.iter().enumerate().map(|(index, (number, _))| is(index, *number)));
    filter.extend([end(libc::SECCOMP_RET_ALLOW), end(libc::SECCOMP_RET_USER_NOTIF)]);
    let program = libc::sock_fprog { len: u16::try_from(filter.len()).unwrap(), filter: filter.as_mut_ptr() };
    rustix::thread::set_no_new_privs(true)?;
    // SAFETY: the kernel copies the program, which outlives the call, and returns a descriptor of its own.
    unsafe {
        let made = libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        );
        let made = i32::try_from(made).unwrap();
        if made < 0 { Err(io::Error::last_os_error()) } else { Ok(OwnedFd::from_raw_fd(made)) }
    }
}

/// Waits for the next call that is asked about; `None` if there will be none.
#[expect(unsafe_code, reason = "no crate at hand has seccomp(2) with a listener")]
fn next(listener: &OwnedFd, is_over: impl Fn() -> bool) -> io::Result<Option<libc::seccomp_notif>> {
    loop {
        let mut ready = [PollFd::new(listener, PollFlags::IN)];
        let pause = Timespec { tv_sec: 0, tv_nsec: 5_000_000 };
        poll(&mut ready, Some(&pause))?;
        if ready[0].revents().contains(PollFlags::IN) {
            // SAFETY: the structure has integers alone, and the kernel wants zeros.
            let mut asked: libc::seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: the kernel writes one structure of this type there.
            let done =
                unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut asked) };
            if done == 0 {
                return Ok(Some(asked));
            }
            // The thread is gone (ENOENT).
            if io::Error::last_os_error().kind() != io::ErrorKind::NotFound {
                return Err(io::Error::last_os_error());
            }
        } else if ready[0].revents().contains(PollFlags::HUP) || is_over() {
            return Ok(None);
        }
    }
}

/// Has the call made, or fail.
#[expect(unsafe_code, reason = "no crate at hand has seccomp(2) with a listener")]
fn reply(listener: &OwnedFd, id: u64, error: Option<Errno>) -> io::Result<()> {
    let flags =
        if error.is_none() { u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).unwrap() } else { 0 };
    let error = error.map_or(0, |error| -error.raw_os_error());
    let mut reply = libc::seccomp_notif_resp { id, val: 0, error, flags };
    // SAFETY: the kernel reads one structure of this type there.
    let done = unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut reply) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
