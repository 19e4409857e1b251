//! GPU choices on well-known boards.

use super::*;
use crate::testing::{gpu_node, linked_node};
use common::node::Inventory;

fn chosen(inventory: &Inventory, free: &[u16], count: usize) -> Vec<u16> {
    let class = Class::of(&std::sync::Arc::new(inventory.clone()));
    let free: Vec<GpuIndex> = free.iter().map(|i| GpuIndex(*i)).collect();
    choose(&class, class.mask(&free), count).iter().map(|gpu| gpu.0).collect()
}

#[test]
fn the_example() {
    let pairs = |a: usize, b: usize| {
        if a / 2 == b / 2 { GpuPath::NvLink(2) } else { GpuPath::Sys }
    };
    let node = linked_node(&[0; 4], pairs);
    assert_eq!(chosen(&node.inventory, &[0, 1, 2, 3], 2), [0, 1]);
    assert_eq!(chosen(&node.inventory, &[2, 3], 1), [2]);
    assert_eq!(chosen(&node.inventory, &[3], 1), [3]);
    assert_eq!(chosen(&node.inventory, &[0, 1, 3], 1), [3], "a pair is not broken");
}

/// The hybrid cube mesh of a DGX-1 with V100: NVLinks between GPUs by number.
fn cube_mesh(a: usize, b: usize) -> GpuPath {
    const LINKS: [(usize, usize, u8); 16] = [
        (0, 1, 1),
        (0, 2, 1),
        (0, 3, 2),
        (0, 4, 2),
        (1, 2, 2),
        (1, 3, 1),
        (1, 5, 2),
        (2, 3, 2),
        (2, 6, 1),
        (3, 7, 1),
        (4, 5, 1),
        (4, 6, 1),
        (4, 7, 2),
        (5, 6, 2),
        (5, 7, 1),
        (6, 7, 2),
    ];
    let pair = (a.min(b), a.max(b));
    let link = LINKS.iter().find(|(x, y, _)| (*x, *y) == pair);
    link.map_or(GpuPath::Sys, |(_, _, count)| GpuPath::NvLink(*count))
}

#[test]
fn on_a_cube_mesh_four_gpus_are_one_of_its_two_squares() {
    let node = linked_node(&[0, 0, 0, 0, 1, 1, 1, 1], cube_mesh);
    assert_eq!(chosen(&node.inventory, &[0, 1, 2, 3, 4, 5, 6, 7], 4), [0, 1, 2, 3]);
    assert_eq!(chosen(&node.inventory, &[1, 2, 3, 4, 5, 6, 7], 4), [4, 5, 6, 7]);
    // 2 and 3 have two links, as many as any pair.
    assert_eq!(chosen(&node.inventory, &[1, 2, 3, 4], 2), [1, 2]);
    assert_eq!(chosen(&node.inventory, &[2, 3, 7], 2), [2, 3]);
}

#[test]
fn behind_nvswitch_a_numa_node_that_is_broken_already_is_used_up() {
    let node = gpu_node("n", 8);
    assert_eq!(chosen(&node.inventory, &[0, 1, 2, 3, 4, 5, 6, 7], 4), [0, 1, 2, 3]);
    assert_eq!(chosen(&node.inventory, &[1, 4, 5, 6, 7], 1), [1]);
    assert_eq!(chosen(&node.inventory, &[1, 2, 4, 5, 6, 7], 2), [1, 2]);
    assert_eq!(chosen(&node.inventory, &[0, 4, 5], 2), [4, 5], "one NUMA node, not two");
}

#[test]
fn without_nvlink_the_nearest_pcie_path_counts() {
    let path = |a: usize, b: usize| match (a, b) {
        (1, 2) | (2, 1) => GpuPath::Pix,
        _ if a / 2 == b / 2 => GpuPath::Node,
        _ => GpuPath::Sys,
    };
    let node = linked_node(&[0, 0, 0, 0], path);
    assert_eq!(chosen(&node.inventory, &[0, 1, 2, 3], 2), [1, 2]);
}

#[test]
fn a_node_with_more_gpus_than_can_be_tried_still_gets_a_linked_set() {
    let groups = |a: usize, b: usize| {
        if a / 4 == b / 4 { GpuPath::NvLink(4) } else { GpuPath::Sys }
    };
    let node = linked_node(&[0; 20], groups);
    let free: Vec<u16> = (2..20).collect();
    assert_eq!(chosen(&node.inventory, &free, 4), [4, 5, 6, 7]);
    assert_eq!(chosen(&node.inventory, &free, 18), free);
}

#[test]
fn every_choice_is_visited_once() {
    let (mut set, mut count) = (vec![0, 1, 2], 1);
    while next_set(&mut set, 6) {
        count += 1;
    }
    assert_eq!(count, 20);
    assert_eq!(set, [3, 4, 5]);
}
