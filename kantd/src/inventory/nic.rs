//! The network cards of the machine, and the PCI distance of each GPU from each card. Virtual
//! functions (SR-IOV) are left out.

use super::Host;
use common::gpu::{Gpu, GpuPath};
use common::node::Nic;
use std::collections::BTreeMap;

/// A device's position in the PCI tree.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    root: String,
    /// Addresses from the root port down to the device.
    path: Vec<String>,
    numa: Option<u16>,
}

/// All network cards that are PCI devices, by name.
pub fn read(host: &Host, gpus: &[Gpu]) -> Vec<Nic> {
    let gpu_places: Vec<Option<Place>> = gpus
        .iter()
        .map(|gpu| Place::of(host, &format!("sys/bus/pci/devices/{}", gpu.pci_bus_id)))
        .collect();
    let mut found: BTreeMap<String, Nic> = BTreeMap::new();
    for (class, is_infiniband) in [("net", false), ("infiniband", true)] {
        for name in host.names(&format!("sys/class/{class}")) {
            let device = format!("sys/class/{class}/{name}/device");
            let is_virtual = host.follow(&format!("{device}/physfn")).is_some();
            let Some(place) = Place::of(host, &device).filter(|_| !is_virtual) else { continue };
            let address = place.path.last().cloned().unwrap_or_default();
            let gpu_paths = gpus.iter().zip(&gpu_places);
            let fresh = || Nic {
                name: name.clone(),
                infiniband: None,
                pci_bus_id: address.clone(),
                numa: place.numa,
                speed_mbit: None,
                gpu_paths: gpu_paths
                    .map(|(gpu, other)| path_to_gpu(&place, other.as_ref(), gpu.numa))
                    .collect(),
            };
            let nic = found.entry(address.clone()).or_insert_with(fresh);
            if is_infiniband {
                nic.infiniband.get_or_insert(name);
            } else {
                let speed = host.read_if_any(&format!("sys/class/net/{name}/speed"));
                // -1 while the link is down.
                let speed = speed.and_then(|text| text.trim().parse().ok());
                nic.speed_mbit = nic.speed_mbit.max(speed);
            }
        }
    }
    let mut nics: Vec<Nic> = found.into_values().collect();
    nics.sort_by(|a, b| a.name.cmp(&b.name));
    nics
}

impl Place {
    /// The position of the nearest PCI device at or above the target of a link.
    fn of(host: &Host, link: &str) -> Option<Self> {
        let names = host.follow(link)?;
        let bridge = names.iter().position(|name| name.starts_with("pci"))?;
        let below = names[bridge + 1..].iter();
        let path: Vec<String> = below.take_while(|name| is_pci_address(name)).cloned().collect();
        let device = names[..=bridge + path.len()].join("/");
        let numa = host.read_if_any(&format!("{device}/numa_node"));
        path.last()?;
        Some(Self {
            root: names[bridge].clone(),
            path,
            // -1 if the kernel does not know.
            numa: numa.and_then(|text| text.trim().parse().ok()),
        })
    }
}

/// Whether a name is a PCI address, like `0000:1b:00.0`.
fn is_pci_address(name: &str) -> bool {
    let parts: Vec<&str> = name.split([':', '.']).collect();
    let hex = |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_hexdigit());
    parts.len() == 4 && parts.iter().all(hex)
}

/// The distance as `nvidia-smi topo -m` has it. `gpu_numa` is the driver's NUMA node of the GPU.
fn path_to_gpu(nic: &Place, gpu: Option<&Place>, gpu_numa: Option<u16>) -> GpuPath {
    let same_numa = nic.numa.is_some() && nic.numa == gpu.and_then(|gpu| gpu.numa).or(gpu_numa);
    let far = if same_numa { GpuPath::Node } else { GpuPath::Sys };
    let Some(gpu) = gpu else { return far };
    if nic.root != gpu.root {
        return far;
    }
    let shared = nic.path.iter().zip(&gpu.path).take_while(|(a, b)| a == b).count();
    // Bridges above only one of the two.
    let own = |path: &[String]| path.len().saturating_sub(shared + 1);
    match (shared, own(&nic.path).max(own(&gpu.path))) {
        (0, _) => GpuPath::Phb,
        (_, 0 | 1) => GpuPath::Pix,
        _ => GpuPath::Pxb,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::cpuset::CpuSet;
    use common::gpu::GpuKind;
    use common::id::GpuIndex;
    use common::unit::Bytes;
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    const SWITCH: &str = "pci0000:15/0000:15:01.0/0000:16:00.0";

    fn device(root: &Path, path: &str, numa: &str) {
        let dir = root.join("sys/devices").join(path);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("numa_node"), format!("{numa}\n")).unwrap();
        let devices = root.join("sys/bus/pci/devices");
        fs::create_dir_all(&devices).unwrap();
        symlink(&dir, devices.join(dir.file_name().unwrap())).unwrap();
    }

    fn card(root: &Path, class: &str, name: &str, path: &str, speed: Option<&str>) {
        let device = root.join("sys/devices").join(path);
        let own = device.join(class).join(name);
        fs::create_dir_all(&own).unwrap();
        symlink(&device, own.join("device")).unwrap();
        speed.into_iter().for_each(|speed| fs::write(own.join("speed"), speed).unwrap());
        let all = root.join("sys/class").join(class);
        fs::create_dir_all(&all).unwrap();
        symlink(&own, all.join(name)).unwrap();
    }

    fn gpu(index: u16, address: &str, numa: Option<u16>) -> Gpu {
        Gpu {
            index: GpuIndex(index),
            uuid: format!("GPU-{index}"),
            model: "NVIDIA H100".to_owned(),
            kind: GpuKind("h100".to_owned()),
            memory: Bytes(0),
            minor: 0,
            pci_bus_id: address.to_owned(),
            numa,
            cpus: CpuSet::new(),
            mig: None,
        }
    }

    /// A GPU and a card below one switch; a GPU below another switch below that; one at another
    /// port of the host bridge; one at another bridge of the socket; one at the other socket.
    fn machine() -> (tempfile::TempDir, Vec<Gpu>) {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        let places = [
            (format!("{SWITCH}/0000:17:00.0/0000:18:00.0"), "0"),
            (format!("{SWITCH}/0000:17:02.0/0000:20:00.0/0000:21:01.0/0000:22:00.0"), "0"),
            ("pci0000:15/0000:15:05.0/0000:2a:00.0".to_owned(), "0"),
            ("pci0000:40/0000:40:01.0/0000:41:00.0".to_owned(), "0"),
            ("pci0000:97/0000:97:01.0/0000:98:00.0".to_owned(), "1"),
        ];
        let gpus = (0..).zip(&places).map(|(index, (path, numa))| {
            device(root, path, numa);
            gpu(index, path.rsplit('/').next().unwrap(), numa.parse().ok())
        });
        let gpus = gpus.collect();
        device(root, &format!("{SWITCH}/0000:17:01.0/0000:19:00.0"), "0");
        (home, gpus)
    }

    #[test]
    fn the_distance_of_a_gpu_from_a_card_depends_on_what_lies_between() {
        let (home, mut gpus) = machine();
        let nic = format!("{SWITCH}/0000:17:01.0/0000:19:00.0");
        card(home.path(), "net", "ib0", &nic, Some("400000\n"));
        card(home.path(), "infiniband", "mlx5_0", &nic, None);
        // Not in the PCI tree: only the driver's NUMA node is known.
        gpus.push(gpu(5, "0000:ff:00.0", Some(0)));
        let found = read(&Host::at(home.path()), &gpus);
        let [ib0] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((ib0.name.as_str(), ib0.infiniband.as_deref()), ("ib0", Some("mlx5_0")));
        assert_eq!((ib0.numa, ib0.speed_mbit), (Some(0), Some(400_000)));
        assert_eq!(ib0.pci_bus_id, "0000:19:00.0");
        let paths =
            [GpuPath::Pix, GpuPath::Pxb, GpuPath::Phb, GpuPath::Node, GpuPath::Sys, GpuPath::Node];
        assert_eq!(ib0.gpu_paths, paths);
    }

    #[test]
    fn virtual_interfaces_and_functions_are_left_out_and_a_down_link_has_no_speed() {
        let (home, gpus) = machine();
        let root = home.path();
        card(root, "net", "lo", "virtual/net", None);
        let physical = "pci0000:00/0000:00:03.0";
        device(root, physical, "-1");
        // Like a virtio card: the interface is not the PCI device's own child.
        card(root, "net", "eth0", &format!("{physical}/virtio2"), Some("-1\n"));
        device(root, "pci0000:00/0000:00:03.1", "-1");
        card(root, "net", "eth0v0", "pci0000:00/0000:00:03.1", Some("10000\n"));
        let physfn = root.join("sys/devices/pci0000:00/0000:00:03.1/physfn");
        symlink(root.join("sys/devices").join(physical), physfn).unwrap();
        let found = read(&Host::at(root), &gpus);
        let names: Vec<&str> = found.iter().map(|nic| nic.name.as_str()).collect();
        assert_eq!(names, ["eth0"]);
        assert_eq!((found[0].numa, found[0].speed_mbit), (None, None));
        assert!(found[0].gpu_paths.iter().all(|path| *path == GpuPath::Sys));
    }
}
