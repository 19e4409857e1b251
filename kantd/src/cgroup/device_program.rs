//! The program that guards a v2 group's GPUs: a few instructions of BPF, assembled here by hand
//! and attached to the group, where it stays until the group is removed.
//! It denies nothing but /dev/nvidiaN, and the render devices of AMD's GPUs. Never needs a
//! compiler or a library.

use super::{CgroupError, DRM_MAJOR, Limits, NVIDIA_CONTROL_MINOR_MIN, NVIDIA_MAJOR};
use common::gpu::RENDER_MINOR_MIN;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

/// One instruction (kernel Documentation/bpf/standardization/instruction-set.rst).
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Instruction {
    code: u8,
    /// Destination register in the low half, source register in the high half.
    registers: u8,
    offset: i16,
    immediate: i32,
}

// Opcodes: class, size and operation or'ed together.
const LOAD_WORD: u8 = 0x61; // dst = *(u32 *)(src + offset)
const AND: u8 = 0x57; // dst &= immediate
const JUMP_EQUAL: u8 = 0x15; // if dst == immediate, skip `offset` instructions
const JUMP_NOT_EQUAL: u8 = 0x55;
const JUMP_NOT_LESS: u8 = 0x35; // unsigned
const MOVE: u8 = 0xb7; // dst = immediate
const EXIT: u8 = 0x95; // the answer is in r0: 1 allows, 0 denies

// From linux/bpf.h.
const BPF_PROG_LOAD: i32 = 5;
const BPF_PROG_ATTACH: i32 = 8;
const BPF_PROG_TYPE_CGROUP_DEVICE: u32 = 15;
const BPF_CGROUP_DEVICE: u32 = 6;
const BPF_F_ALLOW_MULTI: u32 = 2;
/// The low half of `access_type`, for a character device.
const BPF_DEVCG_DEV_CHAR: i32 = 2;

/// Denies a group every GPU but those it may have, in addition to what groups above it deny.
pub fn guard(group: &Path, limits: &Limits) -> Result<(), CgroupError> {
    let failed = |what| {
        let path = group.to_owned();
        move |source| CgroupError::Program { what, path, source }
    };
    let render = limits.denied_render_minors().collect();
    let program = load(&assemble(&limits.gpu_minors, &render)).map_err(failed("load"))?;
    let dir = File::open(group).map_err(failed("attach"))?;
    attach(&program, &dir).map_err(failed("attach"))
}

/// The context holds access_type, major and minor, each a u32. Of NVIDIA's devices all are denied
/// but those allowed, of render devices those that are named: others are no GPUs of jobs.
fn assemble(allowed: &BTreeSet<u32>, denied_render: &BTreeSet<u32>) -> Vec<Instruction> {
    let op =
        |code, registers, offset, immediate| Instruction { code, registers, offset, immediate };
    let number = |n: u32| i32::try_from(n).unwrap_or(i32::MAX);
    let is_gpu = |minor: &u32| *minor < RENDER_MINOR_MIN;
    let minors: Vec<u32> = allowed.iter().copied().filter(is_gpu).collect();
    // Where each part begins. At most 128 and 64 minors, so the jumps fit.
    let render = 10 + minors.len();
    let allow = render + 1 + denied_render.len();
    let deny = allow + 2;
    let jump = |at: usize, to: usize| i16::try_from(to - at - 1).unwrap_or(i16::MAX);
    let mut program = vec![
        op(LOAD_WORD, 0x12, 0, 0),
        op(AND, 0x02, 0, 0xffff),
        op(JUMP_NOT_EQUAL, 0x02, jump(2, allow), BPF_DEVCG_DEV_CHAR),
        op(LOAD_WORD, 0x13, 4, 0),
        op(JUMP_EQUAL, 0x03, jump(4, render), number(DRM_MAJOR)),
        op(JUMP_NOT_EQUAL, 0x03, jump(5, allow), number(NVIDIA_MAJOR)),
        op(LOAD_WORD, 0x14, 8, 0),
        op(JUMP_NOT_LESS, 0x04, jump(7, allow), number(NVIDIA_CONTROL_MINOR_MIN)),
    ];
    for (at, minor) in (8..).zip(&minors) {
        program.push(op(JUMP_EQUAL, 0x04, jump(at, allow), number(*minor)));
    }
    program.extend([op(MOVE, 0, 0, 0), op(EXIT, 0, 0, 0), op(LOAD_WORD, 0x14, 8, 0)]);
    for (at, minor) in (render + 1..).zip(denied_render) {
        program.push(op(JUMP_EQUAL, 0x04, jump(at, deny), number(*minor)));
    }
    program.extend([op(MOVE, 0, 0, 1), op(EXIT, 0, 0, 0)]);
    // The kernel takes no program with a part that is never reached.
    if !denied_render.is_empty() {
        program.extend([op(MOVE, 0, 0, 0), op(EXIT, 0, 0, 0)]);
    }
    program
}

/// The first fields of `union bpf_attr` for loading; the kernel takes the rest as zero.
#[repr(C)]
struct LoadAttributes {
    program_type: u32,
    instruction_count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buffer: u64,
}

/// The first fields of `union bpf_attr` for attaching.
#[repr(C)]
struct AttachAttributes {
    target_fd: u32,
    program_fd: u32,
    attach_type: u32,
    flags: u32,
}

fn load(program: &[Instruction]) -> io::Result<OwnedFd> {
    let attributes = LoadAttributes {
        program_type: BPF_PROG_TYPE_CGROUP_DEVICE,
        instruction_count: u32::try_from(program.len()).map_err(io::Error::other)?,
        instructions: program.as_ptr() as u64,
        license: c"Apache-2.0".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log_buffer: 0,
    };
    let fd = bpf(BPF_PROG_LOAD, &attributes)?;
    // SAFETY: the kernel just gave us this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn attach(program: &OwnedFd, group: &File) -> io::Result<()> {
    let number = |fd: i32| u32::try_from(fd).map_err(io::Error::other);
    let attributes = AttachAttributes {
        target_fd: number(group.as_raw_fd())?,
        program_fd: number(program.as_raw_fd())?,
        attach_type: BPF_CGROUP_DEVICE,
        flags: BPF_F_ALLOW_MULTI,
    };
    bpf(BPF_PROG_ATTACH, &attributes).map(drop)
}

fn bpf<T>(command: i32, attributes: &T) -> io::Result<i32> {
    // SAFETY: the pointer is to a live struct of the size passed, and whatever its fields point to
    // outlives the call; both commands only read it.
    let answer = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_ref(attributes), size_of::<T>())
    };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    i32::try_from(answer).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program as the kernel would: is this access allowed?
    fn allows(program: &[Instruction], context: [u32; 3]) -> bool {
        let (mut registers, mut at) = ([0_u64; 5], 0_usize);
        loop {
            let i = program[at];
            at += 1;
            let (dst, immediate) = (usize::from(i.registers & 15), i.immediate as u64);
            let skip = match i.code {
                LOAD_WORD => {
                    registers[dst] = u64::from(context[i.offset as usize / 4]);
                    false
                }
                AND => {
                    registers[dst] &= immediate;
                    false
                }
                MOVE => {
                    registers[dst] = immediate;
                    false
                }
                JUMP_EQUAL => registers[dst] == immediate,
                JUMP_NOT_EQUAL => registers[dst] != immediate,
                JUMP_NOT_LESS => registers[dst] >= immediate,
                EXIT => return registers[0] == 1,
                code => panic!("opcode {code:#x}"),
            };
            if skip {
                at += usize::try_from(i.offset).unwrap();
            }
        }
    }

    #[test]
    fn only_gpus_that_were_not_given_are_denied() {
        let (char_read, block_read) = (0x2_0002, 0x2_0001);
        for allowed in [vec![], vec![1], vec![0, 3, 7]] {
            let program = assemble(&allowed.iter().copied().collect(), &BTreeSet::from([129, 131]));
            for minor in 0..40 {
                let given = allowed.contains(&minor);
                assert_eq!(allows(&program, [char_read, 195, minor]), given, "{allowed:?} {minor}");
            }
            for context in [
                [char_read, 195, 254],
                [char_read, 195, 255],
                [char_read, 1, 3],
                [block_read, 195, 5],
                [char_read, 510, 5],
                [char_read, 226, 128],
                [char_read, 226, 130],
                [char_read, 226, 0],
                [block_read, 226, 129],
            ] {
                assert!(allows(&program, context), "{allowed:?} {context:?}");
            }
            for minor in [129, 131] {
                assert!(!allows(&program, [char_read, 226, minor]), "{allowed:?} {minor}");
            }
        }
    }

    #[test]
    fn one_by_one_the_same_is_denied() {
        let gpu_minors = BTreeSet::from([3, 128]);
        let known_gpu_minors = BTreeSet::from([3, 40, 128, 129]);
        let denied = Limits { gpu_minors, known_gpu_minors, ..Limits::default() }.denied_devices();
        for device in [(195, 0), (195, 31), (195, 40), (226, 129)] {
            assert!(denied.contains(&device), "{device:?}");
        }
        for device in [(195, 3), (195, 128), (195, 129), (226, 128), (226, 0)] {
            assert!(!denied.contains(&device), "{device:?}");
        }
    }
}
