//! Confines the process by Landlock (landlock(7)): the kernel lets it reach only the roots and the state
//! directory. This second wall does not rely on the first, [`crate::access::roots`], so a fault there gives
//! access to no file outside.
//!
//! Landlock binds the calling thread and the threads that it starts later. So it is applied before any other
//! thread starts, and after all needed files outside the directories are open. It does not cover looking at a
//! file without opening it (stat), modes, owners and times, nor the target of a hard link in a root. Only
//! Linux has it.

use std::{fmt, io};

use crate::access::roots::Roots;
use crate::os::directory::Dir;

/// The network that the process may reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Network {
    /// No TCP, except on sockets that are open already.
    Closed,
    /// TCP without limits, for serving HTTP.
    Open,
}

/// The access, besides to its directories, that the process needs to reconnect to a database: these ports,
/// and the files of the resolver.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Beyond {
    /// The ports to which it connects.
    pub(crate) ports: Vec<u16>,
}

/// The files that the system's resolver reads to look names up (resolver(3), nsswitch.conf(5), gai.conf(5)).
#[cfg(target_os = "linux")]
const OF_RESOLVER: [&str; 6] = [
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/services",
];

/// The TCP port of a name server, for answers that are too long for one datagram.
#[cfg(target_os = "linux")]
const OF_NAME_SERVER: u16 = 53;

/// The confinement that holds for the rest of the process's life.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Confinement {
    /// The process is not confined: the kernel or the system has no Landlock.
    None(Lack),
    /// The process is confined, except for the gaps.
    Held {
        /// The version of the kernel's interface.
        abi: u32,
        /// The gaps that this version leaves open.
        gaps: Vec<Gap>,
    },
}

/// The reasons why the process is not confined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lack {
    /// The kernel was built with Landlock, but started without it.
    NotEnabled,
    /// The kernel has no Landlock, or a sandbox around this process denies it.
    NotImplemented,
    /// The system is not Linux.
    NotLinux,
}

/// The kinds of access that an older kernel cannot deny.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gap {
    /// Truncating a file by its path (before Linux 6.2).
    Truncation,
    /// TCP (before Linux 6.7).
    Tcp,
    /// Commands to devices that are open already (before Linux 6.10).
    Devices,
    /// Signals to other processes, and abstract Unix sockets (before Linux 6.12).
    Processes,
}

/// Confines this thread, and all threads that it starts, as far as the kernel can. They can reach the roots
/// (only for reading, if the policy says so) and the state directory, given by its handle. With `beyond`,
/// they can also look names up and connect. This cannot be undone. If the kernel reports an error, nothing is
/// confined.
pub(crate) fn confine(
    roots: &Roots,
    state: Option<&Dir>,
    network: Network,
    beyond: Option<&Beyond>,
) -> io::Result<Confinement> {
    system::confine(roots, state, network, beyond)
}

// These texts are for logs, and for the person who starts the program.
impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotEnabled => "the kernel was started without Landlock",
            Self::NotImplemented => "the kernel has no Landlock, or a sandbox denies it",
            Self::NotLinux => "only Linux has Landlock",
        })
    }
}

impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncation => "truncation",
            Self::Tcp => "TCP",
            Self::Devices => "device commands",
            Self::Processes => "signals and abstract sockets",
        })
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::io;
    use std::path::{Path, PathBuf};

    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, BitFlags, LandlockStatus, NetPort, PathBeneath, PathFd,
        Ruleset, RulesetAttr as _, RulesetCreatedAttr as _, RulesetError, Scope, make_bitflags,
    };

    use crate::access::landlock::{Beyond, Confinement, Gap, Lack, Network, OF_NAME_SERVER, OF_RESOLVER};
    use crate::access::roots::Roots;
    use crate::os::directory::Dir;
    use crate::os::real_path::real_path;

    /// The version of the interface whose rights are denied, as far as the kernel supports them and no rule
    /// allows them.
    const KNOWN: ABI = ABI::V9;

    /// Returns the rights that reading needs. Nothing is ever executed.
    fn reading() -> BitFlags<AccessFs> {
        make_bitflags!(AccessFs::{ReadFile | ReadDir})
    }

    /// Returns the rights that editing needs. Editing makes no devices, FIFOs, sockets or links.
    fn writing() -> BitFlags<AccessFs> {
        reading()
            | make_bitflags!(AccessFs::{WriteFile | Truncate | MakeReg | MakeDir | RemoveFile | RemoveDir})
    }

    /// Returns the rights in a root. Files move to other directories (Refer) within and between roots, but
    /// not to the state directory.
    fn in_roots(are_read_only: bool) -> BitFlags<AccessFs> {
        if are_read_only { reading() } else { writing() | AccessFs::Refer }
    }

    pub(super) fn confine(
        roots: &Roots,
        state: Option<&Dir>,
        network: Network,
        beyond: Option<&Beyond>,
    ) -> io::Result<Confinement> {
        let status =
            restrict(roots, state, network, beyond).map_err(|error| io::Error::other(error.to_string()))?;
        let abi = match status {
            LandlockStatus::NotEnabled => return Ok(Confinement::None(Lack::NotEnabled)),
            LandlockStatus::NotImplemented => return Ok(Confinement::None(Lack::NotImplemented)),
            LandlockStatus::Available { effective_abi, .. } => effective_abi,
        };
        Ok(Confinement::Held { abi: abi as u32, gaps: gaps(abi, network) })
    }

    /// Returns the gaps that a version of the interface leaves open although they should be closed.
    pub(super) fn gaps(abi: ABI, network: Network) -> Vec<Gap> {
        let gaps = [
            (ABI::V3, Gap::Truncation),
            (ABI::V4, Gap::Tcp),
            (ABI::V5, Gap::Devices),
            (ABI::V6, Gap::Processes),
        ];
        let wanted = |gap: &Gap| *gap != Gap::Tcp || network == Network::Closed;
        let gaps = gaps.into_iter().filter(|(since, gap)| abi < *since && wanted(gap));
        gaps.map(|(_, gap)| gap).collect()
    }

    /// Restricts this thread. By default, the crate `landlock` restricts as much as the kernel supports. It
    /// also sets `no_new_privs`, without which only root may use Landlock.
    fn restrict(
        roots: &Roots,
        state: Option<&Dir>,
        network: Network,
        beyond: Option<&Beyond>,
    ) -> Result<LandlockStatus, RulesetError> {
        let mut ruleset =
            Ruleset::default().handle_access(AccessFs::from_all(KNOWN))?.scope(Scope::from_all(KNOWN))?;
        if network == Network::Closed {
            ruleset = ruleset.handle_access(AccessNet::from_all(KNOWN))?;
        }
        let mut ruleset = ruleset.create()?;
        let access = in_roots(roots.are_read_only());
        for root in roots.directories() {
            ruleset = ruleset.add_rule(PathBeneath::new(root, access))?;
        }
        for away in roots.away() {
            // The mount point can be allowed even while its volume does not answer. The rule does not cover a
            // volume that is mounted there later.
            if let Ok(place) = PathFd::new(&away.path) {
                ruleset = ruleset.add_rule(PathBeneath::new(place, access))?;
            }
        }
        if let Some(state) = state {
            ruleset = ruleset.add_rule(PathBeneath::new(state, writing()))?;
        }
        if let Some(beyond) = beyond {
            // A file that is missing now is not needed. The rule does not cover a file that replaces one
            // later; names that were looked up before remain known.
            let directory = real_path(Path::new(OF_RESOLVER[0])).parent().map(Path::to_owned);
            let directory = directory.filter(|directory| directory != Path::new("/etc"));
            for path in OF_RESOLVER.iter().map(PathBuf::from).chain(directory) {
                if let Ok(opened) = PathFd::new(&path) {
                    let access = if path.is_dir() { reading() } else { AccessFs::ReadFile.into() };
                    ruleset = ruleset.add_rule(PathBeneath::new(opened, access))?;
                }
            }
            for port in beyond.ports.iter().chain([&OF_NAME_SERVER]).filter(|_| network == Network::Closed) {
                ruleset = ruleset.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
            }
        }
        Ok(ruleset.restrict_self()?.landlock)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    use crate::access::landlock::{Beyond, Confinement, Lack, Network};
    use crate::access::roots::Roots;
    use crate::os::directory::Dir;

    #[expect(clippy::unnecessary_wraps, reason = "Linux must ask the system")]
    pub(super) fn confine(
        _: &Roots,
        _: Option<&Dir>,
        _: Network,
        _: Option<&Beyond>,
    ) -> io::Result<Confinement> {
        Ok(Confinement::None(Lack::NotLinux))
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use landlock::ABI;

    use super::*;

    #[test]
    fn what_each_version_leaves_open_is_told() {
        let told = |abi, network| {
            let gaps = system::gaps(abi, network).into_iter().map(|gap| gap.to_string());
            gaps.collect::<Vec<_>>().join(", ")
        };
        let processes = "signals and abstract sockets";
        let of_devices = format!("device commands, {processes}");
        for (abi, closed, open) in [
            (ABI::V2, format!("truncation, TCP, {of_devices}"), format!("truncation, {of_devices}")),
            (ABI::V3, format!("TCP, {of_devices}"), of_devices.clone()),
            (ABI::V4, of_devices.clone(), of_devices),
            (ABI::V5, processes.to_owned(), processes.to_owned()),
            (ABI::V6, String::new(), String::new()),
        ] {
            assert_eq!([told(abi, Network::Closed), told(abi, Network::Open)], [closed, open], "{abi:?}");
        }
    }
}
