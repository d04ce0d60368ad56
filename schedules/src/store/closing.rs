//! Edits on a disk with as many places as there are edits: as long as the files that they replace are being
//! closed, none fails because the disk is full.

use std::sync::{Arc, Mutex};
use std::thread;

use crate::error::{Operation, StoreError, StoreErrorKind};
use crate::lock::deferred_close::DeferredClose;
use crate::lock::file_lock::LockedFile;

const EDITS: u32 = 3;

pub(crate) fn law() {
    let disk = Arc::new(Mutex::new(EDITS));
    let closing = Arc::new(DeferredClose::default());
    let edits: Vec<_> = (0..EDITS)
        .map(|_| {
            let (disk, closing) = (Arc::clone(&disk), Arc::clone(&closing));
            thread::spawn(move || {
                for _ in 0..2 {
                    // Each has one file at a time that is not being closed, so there is always room for one
                    // more, or will be.
                    let made = closing.with_room(|| {
                        let mut free = disk.lock().unwrap();
                        *free = free.checked_sub(1).ok_or_else(full)?;
                        Ok(LockedFile(Arc::clone(&disk)))
                    });
                    closing.close(vec![made.expect("room for it")]);
                }
            })
        })
        .collect();
    edits.into_iter().for_each(|edit| edit.join().unwrap());
    let since = closing.now();
    closing.makes_room(since, &full());
    assert_eq!(*disk.lock().unwrap(), EDITS, "a close that has begun was waited for");
}

fn full() -> StoreError {
    StoreError::new(Operation::Read, "file".as_ref(), StoreErrorKind::NoSpace)
}
