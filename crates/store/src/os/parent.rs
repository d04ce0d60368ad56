//! Checks whether the process that started this one still runs: [`Parent`].
//!
//! A caller must ask repeatedly whether the parent has ended, since no reliable signal reports it. On Linux,
//! `PR_SET_PDEATHSIG` (prctl(2)) reports the end of the thread that started this process, which may end
//! before its process does; other systems have no such signal.

/// The process that started this one.
#[derive(Debug)]
pub struct Parent(#[cfg(unix)] u32, #[cfg(windows)] std::os::windows::io::OwnedHandle);

#[cfg(unix)]
impl Parent {
    /// Returns the parent of this process; `None` for a process that the system itself has started, or whose
    /// parent has ended already.
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        Some(std::os::unix::process::parent_id()).filter(|id| *id > 1).map(Self)
    }

    /// Tells whether the parent has ended.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        std::os::unix::process::parent_id() != self.0
    }
}

#[cfg(windows)]
use std::os::windows::io::{AsRawHandle as _, RawHandle};

/// Returns the time at which a process was created, in the system's own unit.
#[cfg(windows)]
#[expect(unsafe_code, reason = "std knows the processes only that this one has started")]
fn created(process: RawHandle) -> Option<u64> {
    use windows_sys::Win32::Foundation::FILETIME;
    use windows_sys::Win32::System::Threading::GetProcessTimes;
    let mut times = [FILETIME { dwLowDateTime: 0, dwHighDateTime: 0 }; 4];
    let [created, ended, kernel, user] = &mut times;
    // SAFETY: the caller has the handle open, and each time has its room.
    let done = unsafe { GetProcessTimes(process, created, ended, kernel, user) };
    (done != 0).then(|| u64::from(created.dwHighDateTime) << 32 | u64::from(created.dwLowDateTime))
}

#[cfg(windows)]
#[expect(unsafe_code, reason = "std knows the processes only that this one has started")]
impl Parent {
    /// Returns the parent of this process; `None` if the parent has ended already, or cannot be opened.
    #[must_use]
    pub fn of_this_process() -> Option<Self> {
        use std::os::windows::io::{FromRawHandle as _, OwnedHandle};
        use windows_sys::Wdk::System::Threading::{NtQueryInformationProcess, ProcessBasicInformation};
        use windows_sys::Win32::System::Threading::{
            GetCurrentProcess, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE,
        };
        // PROCESS_BASIC_INFORMATION of winternl.h has six words; the last is the id of the parent.
        let mut about = [0_usize; 6];
        let size = u32::try_from(size_of_val(&about)).ok()?;
        let (room, none) = (about.as_mut_ptr().cast(), std::ptr::null_mut());
        // SAFETY: the handle stands for this process, and the room has `size` bytes.
        let status = unsafe {
            NtQueryInformationProcess(GetCurrentProcess(), ProcessBasicInformation, room, size, none)
        };
        let id = u32::try_from(about[5]).ok().filter(|_| status == 0)?;
        // SAFETY: the call takes three numbers.
        let handle = unsafe { OpenProcess(PROCESS_SYNCHRONIZE | PROCESS_QUERY_LIMITED_INFORMATION, 0, id) };
        // SAFETY: the handle was just opened, and only this value owns it.
        let handle = (!handle.is_null()).then(|| unsafe { OwnedHandle::from_raw_handle(handle) })?;
        // If the parent has ended, Windows may have given its id to a later process. SAFETY: this handle
        // stands for this process, and is never closed.
        let own = created(unsafe { GetCurrentProcess() })?;
        (created(handle.as_raw_handle())? <= own).then_some(Self(handle))
    }

    /// Tells whether the parent has ended.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        use windows_sys::Win32::Foundation::WAIT_OBJECT_0;
        use windows_sys::Win32::System::Threading::WaitForSingleObject;
        // SAFETY: the handle is open as long as `self` is borrowed. The call does not wait.
        unsafe { WaitForSingleObject(self.0.as_raw_handle(), 0) == WAIT_OBJECT_0 }
    }
}
