//! Cluster files: `name,gpus,gpu_model,cpus,mem_mib,leaf[,spine,core]`. An empty field means
//! unknown or unlimited.

use super::columns::{Column, Row, Table, header_of, optional_column, push_row, required_column};
use super::field::{self, show_thousandths};
use super::{Node, TraceError};
use common::unit::Gpus;
use std::collections::BTreeMap;

const COLUMNS: &[Column] = &[
    required_column("name"),
    required_column("gpus"),
    optional_column("gpu_model"),
    optional_column("cpus"),
    optional_column("mem_mib"),
    optional_column("leaf"),
    optional_column("spine"),
    optional_column("core"),
];

/// Reads a cluster's nodes, plain or gzip. `file` is its name in errors.
///
/// # Errors
/// The first invalid line, a duplicate name, or a file without nodes.
pub fn read_nodes(file: &str, bytes: &[u8]) -> Result<Vec<Node>, TraceError> {
    let table = Table::read(file, bytes, COLUMNS)?;
    let mut nodes = Vec::new();
    let mut lines = BTreeMap::new();
    for row in table.rows() {
        let node = read_node(&row)?;
        if let Some(earlier) = lines.insert(node.name.clone(), row.line()) {
            let problem = format!("is the name of line {earlier} too: every node needs its own");
            return Err(row.wrong("name", problem));
        }
        nodes.push(node);
    }
    if nodes.is_empty() {
        return Err(TraceError::Empty { file: file.to_owned(), header: header_of(COLUMNS) });
    }
    Ok(nodes)
}

fn read_node(row: &Row<'_>) -> Result<Node, TraceError> {
    let word = |column: &str| -> Option<String> {
        let text = row.text(column);
        (!text.is_empty()).then(|| text.to_owned())
    };
    Ok(Node {
        name: row.read("name", |text| Ok(text.to_owned()))?,
        gpus: row.read("gpus", |text| field::count(text, "GPUs").map(Gpus))?,
        gpu_model: word("gpu_model"),
        cpus: row.read("cpus", |text| field::optional(text, field::cpus))?,
        mem_mib: row
            .read("mem_mib", |text| field::optional(text, |text| field::count(text, "MiB")))?
            .filter(|mib: &u64| *mib > 0),
        leaf: word("leaf"),
        spine: word("spine"),
        core: word("core"),
    })
}

/// The nodes as a cluster file.
#[must_use]
pub fn write_nodes(nodes: &[Node]) -> String {
    let mut text = header_of(COLUMNS);
    text.push('\n');
    for node in nodes {
        let cpus = node.cpus.map_or_else(String::new, |cpus| show_thousandths(cpus.0.into()));
        let mem = node.mem_mib.map_or_else(String::new, |mem| mem.to_string());
        let word = |word: &Option<String>| word.clone().unwrap_or_default();
        let fields = [
            node.name.clone(),
            node.gpus.to_string(),
            word(&node.gpu_model),
            cpus,
            mem,
            word(&node.leaf),
            word(&node.spine),
            word(&node.core),
        ];
        push_row(&mut text, fields.iter().map(String::as_str));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuMilli;
    use proptest::prelude::*;

    #[test]
    fn a_cluster_file_is_read_in_its_order_and_empty_is_unknown() {
        let text = b"name,gpus,gpu_model,cpus,mem_mib,leaf\ng1,8,H100,96.5,1000,l0\nc0,0,,,,\n";
        let nodes = read_nodes("n.csv", text).unwrap();
        assert_eq!(nodes.len(), 2);
        assert_eq!((nodes[0].name.as_str(), nodes[0].gpus), ("g1", Gpus(8)));
        assert_eq!((nodes[0].cpus, nodes[0].mem_mib), (Some(CpuMilli(96_500)), Some(1000)));
        assert_eq!((nodes[0].leaf.as_deref(), nodes[0].spine.as_deref()), (Some("l0"), None));
        assert_eq!((nodes[1].gpus, &nodes[1].gpu_model, nodes[1].cpus), (Gpus(0), &None, None));
    }

    #[test]
    fn each_mistake_names_line_column_value_and_way_out() {
        for (text, expected) in [
            ("name,gpus\na,1\nb,1\na,1\n", "line 4, column name: `a` is the name of line 2 too"),
            ("name,gpus\na,\n", "line 2, column gpus: `` is empty"),
            ("name,gpus\na,-1\n", "line 2, column gpus: `-1` is negative"),
            ("name,gpus\na,two\n", "line 2, column gpus: `two` is not a whole number"),
            ("name,gpus,cpus\na,1,x\n", "line 2, column cpus: `x` is not a number"),
            ("name,gpus,mem_mib\na,1,1.5\n", "column mem_mib: `1.5` is not a whole number"),
            ("name,gpus\n", "it is empty; a trace begins with the line `name,gpus,"),
        ] {
            let error = read_nodes("n.csv", text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    fn word() -> impl Strategy<Value = Option<String>> {
        proptest::option::of("[a-zA-Z0-9 ,\"\n;_-]{1,12}")
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            parts in proptest::collection::vec(
                (0u32..64, word(), proptest::option::of(any::<u32>()),
                 proptest::option::of(any::<u64>()), word(), word(), word()), 1..20),
        ) {
            let nodes: Vec<Node> = parts
                .into_iter()
                .enumerate()
                .map(|(at, (gpus, gpu_model, cpus, mem_mib, leaf, spine, core))| Node {
                    name: format!("n,\"{at}"),
                    gpus: Gpus(gpus),
                    gpu_model,
                    cpus: cpus.map(CpuMilli),
                    mem_mib,
                    leaf,
                    spine,
                    core,
                })
                .collect();
            prop_assert_eq!(read_nodes("n.csv", write_nodes(&nodes).as_bytes()).unwrap(), nodes);
        }
    }
}
