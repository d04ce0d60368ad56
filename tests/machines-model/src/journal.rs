//! The records in the database. Each function is one transaction.

use crate::call::{Change, Phase};
use crate::files::There;

/// The record of a call.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Record {
    pub(crate) phase: Phase,
    /// The process to whose session it belongs.
    pub(crate) owner: u8,
    /// The number of times that it was taken over.
    pub(crate) turn: u8,
    /// Each file as it was before, once it is prepared.
    pub(crate) before: Vec<Option<There>>,
}

/// The records, one for each call at most.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Journal(pub(crate) Vec<Option<Record>>);

impl Journal {
    /// Returns the record of a call, if it is still in this turn.
    fn mine(&mut self, call: u8, turn: u8) -> Option<&mut Record> {
        self.0[usize::from(call)].as_mut().filter(|record| record.turn == turn)
    }

    /// Tells whether the record of a call is still in this turn.
    pub(crate) fn is_mine(&self, call: u8, turn: u8) -> bool {
        self.0[usize::from(call)].as_ref().is_some_and(|record| record.turn == turn)
    }

    /// Returns the records of other calls that name one of these files.
    pub(crate) fn naming<'a>(
        &'a self,
        files: &'a [u8],
        calls: &'a [Vec<Change>],
        besides: Option<u8>,
    ) -> impl Iterator<Item = (u8, &'a Record)> {
        let records = (0..).zip(&self.0).filter(move |(call, _)| Some(*call) != besides);
        records.filter_map(|(call, record)| record.as_ref().map(|record| (call, record))).filter(
            move |(call, _)| {
                calls[usize::from(*call)]
                    .iter()
                    .any(|change| change.names().any(|name| files.contains(&name)))
            },
        )
    }

    /// Writes *prepared*, or nothing if the record is another's by now.
    pub(crate) fn prepare(&mut self, call: u8, before: Vec<Option<There>>, is_conditional: bool) -> bool {
        let phase = |record: &mut Record| {
            record.before = before;
            record.phase = record.phase.max(Phase::Prepared);
        };
        if is_conditional {
            let mine = self.mine(call, 0).filter(|record| record.phase == Phase::Begun);
            return mine.map(phase).is_some();
        }
        self.0[usize::from(call)].as_mut().map(phase);
        true
    }

    /// Writes *committed*, or nothing if the record is another's by now.
    pub(crate) fn commit(&mut self, call: u8, is_conditional: bool) -> bool {
        let phase = |record: &mut Record| record.phase = Phase::Committed;
        if is_conditional {
            return self.mine(call, 0).map(phase).is_some();
        }
        self.0[usize::from(call)].as_mut().map(phase);
        true
    }

    /// Removes the record, or nothing if it is another's by now.
    pub(crate) fn remove(&mut self, call: u8, turn: u8) -> bool {
        let is_mine = self.is_mine(call, turn);
        if is_mine {
            self.0[usize::from(call)] = None;
        }
        is_mine
    }
}
