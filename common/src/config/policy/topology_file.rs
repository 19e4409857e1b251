//! A topology as CSV: a header `name,leaf,spine,core` (or `superspine`), optionally with
//! `nvlink_domain` and `zone`, in any order; one node per line; an empty field is unknown. The
//! inventory columns of a node file (`gpus`, `gpu_model`, `cpus`, `mem_mib`) are ignored, so that
//! one file serves both the simulator and the controller.

use crate::config::ControllerConfig;
use crate::id::{IdError, NodeName, SwitchName, ZoneName};
use crate::topology::{Position, Topology};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// An error in a topology file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("failed to read topology {file}: line {line}: {problem}")]
pub struct TopologyError {
    pub file: String,
    /// From 1.
    pub line: usize,
    pub problem: TopologyProblem,
}

/// A problem with a line, with what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TopologyProblem {
    #[error("the file is empty: begin with a line like name,leaf,spine,core")]
    Empty,
    #[error("there is no column `{0}`: use name, leaf, spine, core, nvlink_domain, zone")]
    UnknownColumn(String),
    #[error("the column `{0}` occurs twice: remove one")]
    ColumnTwice(String),
    #[error("there is no column `name`: begin with a line like name,leaf,spine,core")]
    NoNameColumn,
    #[error("it has {found} fields, the header {expected}: write every field, empty if unknown")]
    Fields { found: usize, expected: usize },
    #[error(transparent)]
    Name(#[from] IdError),
    #[error("node {node} is already in line {first}: remove one")]
    NodeTwice {
        node: NodeName,
        /// Its first line.
        first: usize,
    },
    /// A switch with two parents.
    #[error(
        "{below} is below {first} in another line, and below {second} here: a switch has one parent"
    )]
    TwoAbove {
        below: SwitchName,
        /// The parent in the earlier line.
        first: SwitchName,
        /// The parent in this line.
        second: SwitchName,
    },
    #[error("the cluster has no node {0}: correct the name, or remove the line")]
    UnknownNode(NodeName),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyFile {
    file: String,
    nodes: BTreeMap<NodeName, (usize, Position)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Column {
    Name,
    Leaf,
    Spine,
    Superspine,
    NvlinkDomain,
    Zone,
    PassedOver,
}

impl TopologyFile {
    /// The path of `topology_file`, relative to the folder of the configuration file; `None`: the
    /// configuration names none.
    #[must_use]
    pub fn path(config_file: &Path, config: &ControllerConfig) -> Option<PathBuf> {
        let folder = config_file.parent().unwrap_or(Path::new(""));
        let name = &config.topology_file;
        (!name.is_empty()).then(|| folder.join(name))
    }

    /// Parses a topology; `file` is its name, for messages.
    ///
    /// # Errors
    /// [`TopologyError`] with file and line.
    pub fn read(file: &str, text: &str) -> Result<Self, TopologyError> {
        let at = |line, problem| TopologyError { file: file.to_owned(), line, problem };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = text.lines().enumerate().map(|(number, line)| (number + 1, line.trim()));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (number, head) = lines.next().ok_or_else(|| at(1, TopologyProblem::Empty))?;
        let columns = columns(head).map_err(|problem| at(number, problem))?;
        let mut nodes: BTreeMap<NodeName, (usize, Position)> = BTreeMap::new();
        let mut above = BTreeMap::new();
        for (number, line) in lines {
            let (node, position) = node(line, &columns).map_err(|problem| at(number, problem))?;
            record_switch_parents(&mut above, &position).map_err(|problem| at(number, problem))?;
            if let Some((first, _)) = nodes.get(&node) {
                return Err(at(number, TopologyProblem::NodeTwice { node, first: *first }));
            }
            nodes.insert(node, (number, position));
        }
        Ok(Self { file: file.to_owned(), nodes })
    }

    #[must_use]
    pub fn topology(&self) -> Topology {
        let positions = self.nodes.iter();
        Topology(positions.map(|(node, (_, position))| (node.clone(), position.clone())).collect())
    }

    /// Reports the first line with a node that does not exist, for a caller that knows all nodes.
    ///
    /// # Errors
    /// [`TopologyError`] with file and line.
    pub fn check_known(&self, known: impl Fn(&NodeName) -> bool) -> Result<(), TopologyError> {
        let unknown = self.nodes.iter().filter(|(node, _)| !known(node));
        let first = unknown.min_by_key(|(_, (line, _))| *line);
        first.map_or(Ok(()), |(node, (line, _))| {
            let problem = TopologyProblem::UnknownNode(node.clone());
            Err(TopologyError { file: self.file.clone(), line: *line, problem })
        })
    }
}

fn columns(head: &str) -> Result<Vec<Column>, TopologyProblem> {
    let mut columns = Vec::new();
    for word in head.split(',').map(str::trim) {
        let column = match word {
            "name" => Column::Name,
            "leaf" => Column::Leaf,
            "spine" => Column::Spine,
            "core" | "superspine" => Column::Superspine,
            "nvlink_domain" => Column::NvlinkDomain,
            "zone" => Column::Zone,
            "gpus" | "gpu_model" | "cpus" | "mem_mib" => Column::PassedOver,
            _ => return Err(TopologyProblem::UnknownColumn(word.to_owned())),
        };
        if column != Column::PassedOver && columns.contains(&column) {
            return Err(TopologyProblem::ColumnTwice(word.to_owned()));
        }
        columns.push(column);
    }
    if !columns.contains(&Column::Name) {
        return Err(TopologyProblem::NoNameColumn);
    }
    Ok(columns)
}

fn node(line: &str, columns: &[Column]) -> Result<(NodeName, Position), TopologyProblem> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != columns.len() {
        return Err(TopologyProblem::Fields { found: fields.len(), expected: columns.len() });
    }
    let field = |wanted| {
        let at = columns.iter().position(|column| *column == wanted);
        at.and_then(|at| fields.get(at)).copied().filter(|text| !text.is_empty())
    };
    let switch = |wanted| field(wanted).map(SwitchName::new).transpose();
    let position = Position {
        nvlink_domain: switch(Column::NvlinkDomain)?,
        leaf: switch(Column::Leaf)?,
        spine: switch(Column::Spine)?,
        superspine: switch(Column::Superspine)?,
        zone: field(Column::Zone).map(ZoneName::new).transpose()?,
    };
    Ok((NodeName::new(field(Column::Name).unwrap_or_default())?, position))
}

/// Records the parent of each switch, which has only one.
fn record_switch_parents(
    above: &mut BTreeMap<(bool, SwitchName), SwitchName>,
    position: &Position,
) -> Result<(), TopologyProblem> {
    let leaf = (true, &position.leaf, &position.spine);
    let spine = (false, &position.spine, &position.superspine);
    for (is_leaf, below, upper) in [leaf, spine] {
        let (Some(below), Some(upper)) = (below, upper) else { continue };
        let first = above.entry((is_leaf, below.clone())).or_insert_with(|| upper.clone());
        if first != upper {
            let (first, second) = (first.clone(), upper.clone());
            return Err(TopologyProblem::TwoAbove { below: below.clone(), first, second });
        }
    }
    Ok(())
}
