//! Parses the owner of a directory on Windows, and what its access list permits each user, from the system's
//! own notation (SDDL): [`AccessList`]. The code makes no system calls, so it is tested on every system; only
//! `state_dir/private` uses it, on Windows.

/// The right to rename or remove the file or directory itself (`DELETE`).
const DELETE: u32 = 0x1_0000;
/// The right to rename or remove an entry of a directory, whatever the entry's own list says
/// (`FILE_DELETE_CHILD`).
const DELETE_CHILD: u32 = 0x40;
/// The rights that allow a user to give themselves every right (`WRITE_DAC`, `WRITE_OWNER`, `GENERIC_ALL`).
const TAKE: u32 = 0x4_0000 | 0x8_0000 | GENERIC_ALL;
const GENERIC_ALL: u32 = 0x1000_0000;

/// The letters that stand for rights in a list: generic rights, standard rights, rights of files, and rights
/// of directory services, which stand for the same bits.
const RIGHTS: &[(&str, u32)] = &[
    ("GA", GENERIC_ALL),
    ("GR", 0x8000_0000),
    ("GW", 0x4000_0000),
    ("GX", 0x2000_0000),
    ("RC", 0x2_0000),
    ("SD", DELETE),
    ("WD", 0x4_0000),
    ("WO", 0x8_0000),
    ("FA", 0x1F_01FF),
    ("FR", 0x12_0089),
    ("FW", 0x12_0116),
    ("FX", 0x12_00A0),
    ("CC", 0x1),
    ("DC", 0x2),
    ("LC", 0x4),
    ("SW", 0x8),
    ("RP", 0x10),
    ("WP", 0x20),
    ("DT", DELETE_CHILD),
    ("LO", 0x80),
    ("CR", 0x100),
];

/// The identifiers of users who have every right on a machine anyway (the system, the administrators, the
/// service that installs Windows), or that stand for the owner (the creator of a file, and its owner).
const TRUSTED: &[&str] = &[
    "SY",
    "S-1-5-18",
    "BA",
    "S-1-5-32-544",
    "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",
    "CO",
    "S-1-3-0",
    "OW",
    "S-1-3-4",
];

/// The beginnings of identifiers of packages and of their capabilities, and the letters for all packages. An
/// entry for a package grants its sandboxed programs nothing that their own user is not permitted, and grants
/// nothing to anybody else (`AppContainer` isolation).
const OF_PACKAGES: &[&str] = &["S-1-15-2-", "S-1-15-3-", "AC"];

/// The owner of a directory, and what its access list grants.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct AccessList {
    pub(crate) owner: String,
    /// The grants; `None` if there is no list. Everybody then has every right.
    grants: Option<Vec<Grant>>,
    /// Whether the list inherits nothing. If so, a change of a directory above does not change it.
    pub(crate) is_protected: bool,
}

/// The grant of one entry of a list. Denials are left out: a denial only takes rights away, and no check here
/// relies on one.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Grant {
    whom: String,
    rights: u32,
    /// Whether the grant applies to the directory itself, not only to entries that are created in it.
    is_own: bool,
}

impl AccessList {
    /// Parses the owner and the list; `None` if the text is not a security descriptor.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let owner = section(text, "O:")?.to_owned();
        let Some(list) = section(text, "D:").filter(|list| !list.contains("NO_ACCESS_CONTROL")) else {
            return Some(Self { owner, grants: None, is_protected: false });
        };
        let is_protected = list.split('(').next().is_some_and(|flags| flags.contains('P'));
        let mut grants = Vec::new();
        for entry in entries(list) {
            let fields: Vec<&str> = entry.split(';').collect();
            let [kind, flags, rights, _, _, whom, ..] = fields[..] else { return None };
            if matches!(kind, "A" | "OA" | "XA" | "ZA") {
                let rights = rights_of(rights)?;
                grants.push(Grant {
                    whom: whom.to_owned(),
                    rights,
                    is_own: !pairs(flags).any(|flag| flag == "IO"),
                });
            }
        }
        Some(Self { owner, grants: Some(grants), is_protected })
    }

    /// Tells whether the owner is this user, or a user who has every right on the machine anyway.
    pub(crate) fn is_owned_by(&self, user: &str) -> bool {
        is_trusted(&self.owner, user)
    }

    /// Tells whether users other than this one have any right to the directory, or to entries that are
    /// created in it.
    pub(crate) fn is_open_to_others(&self, user: &str) -> bool {
        self.grants.as_ref().is_none_or(|grants| {
            grants.iter().any(|grant| !is_trusted(&grant.whom, user) && grant.rights != 0)
        })
    }

    /// Returns a user, other than this one, who can rename entries of the directory; `None` if there is none.
    pub(crate) fn who_renames_in_it(&self, user: &str) -> Option<&str> {
        self.who_may(DELETE_CHILD | TAKE, user)
    }

    /// Returns a user, other than this one, who can rename the directory itself; `None` if there is none.
    pub(crate) fn who_renames_it(&self, user: &str) -> Option<&str> {
        self.who_may(DELETE | TAKE, user)
    }

    /// Returns the first other user (sandboxes of this user do not count) who has one of these rights to the
    /// directory itself; `None` if there is none.
    fn who_may(&self, rights: u32, user: &str) -> Option<&str> {
        let Some(grants) = &self.grants else { return Some("everybody") };
        let is_other = |whom: &str| {
            !is_trusted(whom, user) && !OF_PACKAGES.iter().any(|package| whom.starts_with(package))
        };
        let mut others = grants.iter().filter(|grant| grant.is_own && is_other(&grant.whom));
        others
            .find(|grant| grant.rights & rights != 0)
            .map(|grant| if grant.whom == "WD" { "everybody" } else { &grant.whom })
    }
}

/// Returns the text of a list that grants rights only to this user, the system and the administrators. It
/// inherits nothing from above.
pub(crate) fn private_to(user: &str) -> String {
    format!("O:{user}D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FA;;;{user})")
}

fn is_trusted(who: &str, user: &str) -> bool {
    who == user || TRUSTED.contains(&who)
}

/// Returns a part of a security descriptor, up to the next part. The parts are `O:`, `G:`, `D:` and `S:`;
/// entries have no colon outside of brackets.
fn section<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(name)?;
    let end = ["G:", "D:", "S:"].iter().filter_map(|next| rest.find(next)).min().unwrap_or(rest.len());
    rest.get(..end)
}

/// Returns the entries of a list, without their brackets. An entry can end in a condition, which also has
/// brackets.
fn entries(list: &str) -> Vec<&str> {
    let (mut entries, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, character) in list.char_indices() {
        match character {
            '(' => {
                if depth == 0 {
                    start = at + 1;
                }
                depth += 1;
            }
            ')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    entries.push(list.get(start..at).unwrap_or_default());
                }
            }
            _ => {}
        }
    }
    entries
}

fn rights_of(text: &str) -> Option<u32> {
    if let Some(digits) = text.strip_prefix("0x") {
        return u32::from_str_radix(digits, 16).ok();
    }
    if !text.len().is_multiple_of(2) {
        return None;
    }
    pairs(text).try_fold(0, |rights, pair| {
        let (_, right) = RIGHTS.iter().find(|(letters, _)| *letters == pair)?;
        Some(rights | right)
    })
}

/// Returns the letters of a text two by two.
fn pairs(text: &str) -> impl Iterator<Item = &str> {
    (0..text.len() / 2).filter_map(move |pair| text.get(2 * pair..2 * pair + 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: &str = "S-1-5-21-1-2-3-1001";

    /// Returns what others may do: use the directory (`o`), rename entries in it (`i`), rename it (`r`). `p`
    /// stands for a list that inherits nothing, `?` for text that cannot be read, and `!` in front for
    /// another user's directory.
    fn others(text: &str) -> String {
        let Some(list) = AccessList::read(text) else { return "?".to_owned() };
        let told = [
            (!list.is_owned_by(ADA), '!'),
            (list.is_open_to_others(ADA), 'o'),
            (list.who_renames_in_it(ADA).is_some(), 'i'),
            (list.who_renames_it(ADA).is_some(), 'r'),
            (list.is_protected, 'p'),
        ];
        told.iter().filter(|(is_so, _)| *is_so).map(|(_, letter)| letter).collect()
    }

    #[test]
    fn what_access_lists_let_others_do() {
        let check = |text: &str, expected: &str| {
            assert_eq!(others(&text.replace("ADA", ADA)), expected, "{text}");
        };
        check(&private_to(ADA), "p");
        // The directory of a profile, and those of an administrator and of the installer of Windows.
        check("O:ADAG:BAD:(A;OICIID;FA;;;SY)(A;OICIID;FA;;;BA)(A;OICIID;FA;;;ADA)", "");
        check("O:BAG:BAD:P(A;OICI;FA;;;BA)(A;OICIIO;GA;;;CO)S:AI", "p");
        check("O:S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464D:(A;;FA;;;SY)", "");
        // The top of a disk of the system, and of another.
        check(
            "O:SYG:SYD:PAI(A;OICI;FA;;;BA)(A;;LC;;;AU)(A;OICIIO;SDGXGWGR;;;AU)(A;OICI;0x1200a9;;;BU)",
            "op",
        );
        check("O:BAD:(A;OICI;FA;;;BA)(A;OICI;0x1301bf;;;AU)(A;OICI;0x1200a9;;;BU)", "or");
        check("O:ADAD:(A;;DT;;;BU)", "oi");
        check("O:ADAD:(A;;DTDT;;;BU)", "oi");
        check("O:ADAD:(A;;WD;;;WD)", "oir");
        check("O:ADAD:(A;;GA;;;WD)", "oir");
        check("O:ADAD:(A;OICIIO;FA;;;WD)", "o");
        check("O:ADAD:(A;;FR;;;S-1-5-21-1-2-3-1002)", "o");
        // Sandboxes of agents write such entries on a profile; only those of packages are this user's own.
        check("O:ADAD:(A;OICI;FA;;;S-1-15-3-1024-1-2)(A;OICI;FA;;;S-1-15-2-1-2)(A;;FA;;;AC)", "o");
        check("O:ADAD:(A;OICI;FA;;;S-1-15-3-1024-1-2)(A;OICI;FA;;;S-1-5-21-1-2-3-1009)", "oir");
        let group = AccessList::read("O:BAD:(A;;FA;;;S-1-15-3-1)(A;;FA;;;S-1-5-21-1-2-3-1009)").unwrap();
        assert_eq!(group.who_renames_in_it(ADA), Some("S-1-5-21-1-2-3-1009"));
        check("O:ADAD:(D;;FA;;;WD)(A;;FA;;;ADA)", "");
        check("O:ADAD:(XA;;FR;;;WD;(a == \"b\"))", "o");
        check("O:ADAD:", "");
        check("O:ADAD:NO_ACCESS_CONTROL", "oir");
        check("O:ADAG:ADA", "oir");
        check("O:S-1-5-21-1-2-3-1002D:(A;;FA;;;ADA)", "!");
        for none in ["", "D:(A;;FA;;;ADA)", "O:ADAD:(A;;FA)", "O:ADAD:(A;;QQ;;;WD)", "O:ADAD:(A;;F;;;WD)"] {
            check(none, "?");
        }
    }
}
