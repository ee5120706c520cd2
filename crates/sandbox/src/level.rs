//! How much is enforced, layer by layer: every exit carries it, so that nobody has to believe 'sandboxed' (I1).
//! It must never say `Enforced` for something that was not put in place for that very run.

use std::fmt;
use std::sync::Arc;

/// One wall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// An own user namespace: no privilege over anything of the host's.
    UserNamespace,
    /// The process is an unprivileged user on the host, also when the daemon is root.
    UnprivilegedIdentity,
    /// Files that the command makes belong to the workspace's owner, by an id-mapped mount or because they are the same user.
    WorkspaceOwner,
    /// An own root with the workspace and a read-only toolchain; nothing else of the host's files is reachable.
    FileView,
    /// An own process namespace that is empty when the answer arrives.
    Processes,
    /// An own process list; the host's processes cannot be seen.
    ProcessList,
    /// An own network without any way out; its loopback is its own.
    Network,
    /// Own message queues, semaphores and shared memory.
    Ipc,
    /// No capability, and no way to get one: no new privileges, empty bounding set.
    Privileges,
    /// Limits on processes, open files, file size, core dumps and output.
    Limits,
    /// Limits on memory and CPU of the tree as a whole.
    TreeLimits,
    /// A filter of system calls.
    SystemCalls,
    /// Landlock rules as a second wall around files.
    FileRules,
}

impl fmt::Display for Layer {
    /// Its name in a receipt: lower case, words joined by `_`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(match self {
            Self::UserNamespace => "user_namespace",
            Self::UnprivilegedIdentity => "unprivileged_identity",
            Self::WorkspaceOwner => "workspace_owner",
            Self::FileView => "file_view",
            Self::Processes => "processes",
            Self::ProcessList => "process_list",
            Self::Network => "network",
            Self::Ipc => "ipc",
            Self::Privileges => "privileges",
            Self::Limits => "limits",
            Self::TreeLimits => "tree_limits",
            Self::SystemCalls => "system_calls",
            Self::FileRules => "file_rules",
        })
    }
}

/// Whether a layer holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It does.
    Enforced,
    /// It does not.
    Missing {
        /// Why.
        reason: String,
        /// What a person can do about it.
        remedy: String,
    },
}

/// The state of every layer. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    layers: Arc<[(Layer, State)]>,
}

impl Level {
    pub(crate) fn new(layers: Vec<(Layer, State)>) -> Self {
        Self { layers: layers.into() }
    }

    /// Every layer with its state.
    pub fn layers(&self) -> impl Iterator<Item = (Layer, &State)> {
        self.layers.iter().map(|(layer, state)| (*layer, state))
    }

    /// Whether this layer holds.
    #[must_use]
    pub fn enforces(&self, layer: Layer) -> bool {
        self.layers().any(|(known, state)| known == layer && *state == State::Enforced)
    }

    /// The same with one layer missing.
    pub(crate) fn without(&self, layer: Layer, reason: &str, remedy: &str) -> Self {
        let missing = State::Missing { reason: reason.to_owned(), remedy: remedy.to_owned() };
        let layers = self.layers.iter().map(|(known, state)| {
            let state = if *known == layer { missing.clone() } else { state.clone() };
            (*known, state)
        });
        Self { layers: layers.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i1_a_layer_is_called_what_its_variant_is_called() {
        for layer in [
            Layer::UserNamespace,
            Layer::UnprivilegedIdentity,
            Layer::WorkspaceOwner,
            Layer::FileView,
            Layer::Processes,
            Layer::ProcessList,
            Layer::Network,
            Layer::Ipc,
            Layer::Privileges,
            Layer::Limits,
            Layer::TreeLimits,
            Layer::SystemCalls,
            Layer::FileRules,
        ] {
            let squeezed = layer.to_string().replace('_', "");
            assert_eq!(squeezed, format!("{layer:?}").to_lowercase());
        }
    }
}
