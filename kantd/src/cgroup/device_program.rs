//! The BPF program that denies access to GPUs in a v2 cgroup: a few instructions, assembled by hand
//! and attached to the cgroup until that is removed. It covers /dev/nvidiaN, the devices of MIG
//! (/dev/nvidia-caps) and the render devices of AMD's GPUs, and needs no compiler or library.

use super::{CgroupError, DRM_MAJOR, Limits, NVIDIA_CONTROL_MINOR_MIN, NVIDIA_MAJOR};
use common::gpu::RENDER_MINOR_MIN;
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
const JUMP: u8 = 0x05; // skip `offset` instructions
const JUMP_EQUAL: u8 = 0x15; // if dst == immediate, skip `offset` instructions
const JUMP_NOT_EQUAL: u8 = 0x55;
const JUMP_NOT_LESS: u8 = 0x35; // unsigned
const MOVE: u8 = 0xb7; // dst = immediate
const EXIT: u8 = 0x95; // the result is in r0: 1 allows, 0 denies

// Registers. The kernel passes a pointer to the context in the second.
const RESULT: u8 = 0;
const CONTEXT: u8 = 1;
const ACCESS: u8 = 2;
const MAJOR: u8 = 3;
const MINOR: u8 = 4;

// From linux/bpf.h.
const BPF_PROG_LOAD: i32 = 5;
const BPF_PROG_ATTACH: i32 = 8;
const BPF_PROG_TYPE_CGROUP_DEVICE: u32 = 15;
const BPF_CGROUP_DEVICE: u32 = 6;
const BPF_F_ALLOW_MULTI: u32 = 2;
/// The low half of `access_type`, for a character device.
const BPF_DEVCG_DEV_CHAR: u32 = 2;

/// Attempts to load a program, which a signal interrupts (libbpf makes as many).
const LOAD_TRIES: u32 = 5;

/// Denies a cgroup every GPU but its own, in addition to what its parents deny.
pub fn deny_devices(group: &Path, limits: &Limits) -> Result<(), CgroupError> {
    let failed = |what| {
        let path = group.to_owned();
        move |source| CgroupError::Program { what, path, source }
    };
    let program = load_program(&assemble(limits)).map_err(failed("load"))?;
    let dir = File::open(group).map_err(failed("attach"))?;
    attach(&program, &dir).map_err(failed("attach"))
}

/// The target of a jump.
#[derive(Debug, Clone, Copy)]
enum To {
    /// To the end that allows.
    Allow,
    /// To the end that denies.
    Deny,
    /// Past N instructions.
    Past(usize),
}

/// A program under construction. Jumps are resolved when it is complete.
#[derive(Default)]
struct Draft(Vec<(Instruction, Option<To>)>);

impl Draft {
    fn push(&mut self, code: u8, registers: u8, offset: i16, immediate: u32) {
        // The kernel reads the same bits as an unsigned number.
        let immediate = immediate.cast_signed();
        self.0.push((Instruction { code, registers, offset, immediate }, None));
    }

    /// Reads a number of the context, at this byte offset.
    fn load_word(&mut self, register: u8, offset: i16) {
        self.push(LOAD_WORD, CONTEXT << 4 | register, offset, 0);
    }

    fn jump(&mut self, code: u8, register: u8, number: u32, to: To) {
        self.push(code, register, 0, number);
        if let Some((_, jump)) = self.0.last_mut() {
            *jump = Some(to);
        }
    }

    /// Jumps if the minor is one of these.
    fn jump_if_one_of(&mut self, minors: impl Iterator<Item = u32>, to: To) {
        minors.for_each(|minor| self.jump(JUMP_EQUAL, MINOR, minor, to));
    }

    /// Adds instructions for the devices of one major; others jump past them.
    fn push_for_major(&mut self, major: u32, asked: Self) {
        self.jump(JUMP_NOT_EQUAL, MAJOR, major, To::Past(asked.0.len()));
        self.0.extend(asked.0);
    }

    /// Adds both ends and resolves the jumps. Both ends must be reachable, because the kernel
    /// rejects programs with unreachable instructions.
    fn end(mut self) -> Vec<Instruction> {
        let allow = self.0.len();
        let deny = allow + 2;
        for result in [1, 0] {
            self.push(MOVE, RESULT, 0, result);
            self.push(EXIT, 0, 0, 0);
        }
        let resolved = self.0.into_iter().enumerate().map(|(at, (instruction, jump))| {
            let behind = at + 1;
            let target = match jump {
                None => return instruction,
                Some(To::Allow) => allow,
                Some(To::Deny) => deny,
                Some(To::Past(count)) => behind + count,
            };
            // At most 128 and 64 minors, and two for each of some dozens of MIG devices: it fits.
            let offset = i16::try_from(target - behind).unwrap_or(i16::MAX);
            Instruction { offset, ..instruction }
        });
        resolved.collect()
    }
}

/// The context holds access_type, major and minor, a u32 each. NVIDIA's devices, and those of MIG,
/// are denied unless allowed, so that devices made later are covered, and also the two devices that
/// divide GPUs and observe all MIG devices, which only root needs. Render devices are denied only
/// if they are known GPUs.
fn assemble(limits: &Limits) -> Vec<Instruction> {
    let mut program = Draft::default();
    program.load_word(ACCESS, 0);
    program.push(AND, ACCESS, 0, 0xffff);
    program.jump(JUMP_NOT_EQUAL, ACCESS, BPF_DEVCG_DEV_CHAR, To::Allow);
    program.load_word(MAJOR, 4);
    program.load_word(MINOR, 8);

    let is_nvidia = |minor: &u32| *minor < RENDER_MINOR_MIN;
    let mut gpus = Draft::default();
    gpus.jump(JUMP_NOT_LESS, MINOR, NVIDIA_CONTROL_MINOR_MIN, To::Allow);
    gpus.jump_if_one_of(limits.gpu_minors.iter().copied().filter(is_nvidia), To::Allow);
    gpus.jump(JUMP, 0, 0, To::Deny);
    program.push_for_major(NVIDIA_MAJOR, gpus);

    for major in limits.mig_majors() {
        let own = limits.mig_devices.iter().filter(|device| device.major == major);
        let mut mig = Draft::default();
        mig.jump_if_one_of(own.map(|device| device.minor), To::Allow);
        mig.jump(JUMP, 0, 0, To::Deny);
        program.push_for_major(major, mig);
    }

    let mut render = Draft::default();
    render.jump_if_one_of(limits.denied_render_minors(), To::Deny);
    if !render.0.is_empty() {
        program.push_for_major(DRM_MAJOR, render);
    }
    program.end()
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

fn load_program(program: &[Instruction]) -> io::Result<OwnedFd> {
    let attributes = LoadAttributes {
        program_type: BPF_PROG_TYPE_CGROUP_DEVICE,
        instruction_count: u32::try_from(program.len()).map_err(io::Error::other)?,
        instructions: program.as_ptr() as u64,
        license: c"Apache-2.0".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log_buffer: 0,
    };
    let mut tries = 1;
    let fd = loop {
        match call_bpf(BPF_PROG_LOAD, &attributes) {
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) && tries < LOAD_TRIES => {
                tries += 1;
            }
            answer => break answer?,
        }
    };
    // SAFETY: the kernel just made this descriptor for us; nothing else owns it.
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
    call_bpf(BPF_PROG_ATTACH, &attributes).map(drop)
}

fn call_bpf<T>(command: i32, attributes: &T) -> io::Result<i32> {
    // SAFETY: the pointer is to a live struct of the size passed, and what its fields point to
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
    use common::gpu::mig::DeviceNumber;
    use std::collections::BTreeSet;

    const CHAR_READ: u32 = 0x2_0002;
    const BLOCK_READ: u32 = 0x2_0001;

    /// Interprets a program as the kernel would: whether it allows this access.
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
                JUMP => true,
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

    /// Checks, like the kernel, that all instructions are reachable and no jump leaves the program.
    fn assert_taken(program: &[Instruction]) {
        let (mut reached, mut ahead) = (vec![false; program.len()], vec![0]);
        while let Some(at) = ahead.pop() {
            if std::mem::replace(&mut reached[at], true) {
                continue;
            }
            let i = program[at];
            let target = at + 1 + usize::try_from(i.offset).unwrap();
            match i.code {
                EXIT => {}
                JUMP => ahead.push(target),
                JUMP_EQUAL | JUMP_NOT_EQUAL | JUMP_NOT_LESS => ahead.extend([at + 1, target]),
                _ => ahead.push(at + 1),
            }
        }
        assert!(reached.iter().all(|is| *is), "{program:?}");
    }

    fn numbers(devices: &[(u32, u32)]) -> BTreeSet<DeviceNumber> {
        devices.iter().map(|(major, minor)| DeviceNumber { major: *major, minor: *minor }).collect()
    }

    #[test]
    fn only_gpus_that_were_not_granted_are_denied() {
        for allowed in [vec![], vec![1], vec![0, 3, 7]] {
            let program = assemble(&Limits {
                gpu_minors: allowed.iter().copied().collect(),
                known_gpu_minors: BTreeSet::from([0, 1, 129, 131]),
                ..Limits::default()
            });
            assert_taken(&program);
            for minor in 0..40 {
                let given = allowed.contains(&minor);
                assert_eq!(allows(&program, [CHAR_READ, 195, minor]), given, "{allowed:?} {minor}");
            }
            for context in [
                [CHAR_READ, 195, 254],
                [CHAR_READ, 195, 255],
                [CHAR_READ, 1, 3],
                [BLOCK_READ, 195, 5],
                [CHAR_READ, 510, 5],
                [CHAR_READ, 226, 128],
                [CHAR_READ, 226, 130],
                [CHAR_READ, 226, 0],
                [BLOCK_READ, 226, 129],
            ] {
                assert!(allows(&program, context), "{allowed:?} {context:?}");
            }
            for minor in [129, 131] {
                assert!(!allows(&program, [CHAR_READ, 226, minor]), "{allowed:?} {minor}");
            }
        }
    }

    #[test]
    fn only_its_own_mig_devices_can_be_opened_even_if_others_are_made_later() {
        for render in [None, Some(129)] {
            let program = assemble(&Limits {
                gpu_minors: BTreeSet::from([3]),
                known_gpu_minors: render.into_iter().collect(),
                mig_devices: numbers(&[(509, 12), (509, 13)]),
                known_mig_devices: numbers(&[(509, 12), (509, 13), (509, 21), (509, 22)]),
                ..Limits::default()
            });
            assert_taken(&program);
            for minor in 0..300 {
                let own = [12, 13].contains(&minor);
                assert_eq!(allows(&program, [CHAR_READ, 509, minor]), own, "{minor}");
            }
            assert!(allows(&program, [CHAR_READ, 195, 3]));
            assert!(!allows(&program, [CHAR_READ, 195, 2]));
            for context in [[BLOCK_READ, 509, 21], [CHAR_READ, 508, 21], [CHAR_READ, 510, 12]] {
                assert!(allows(&program, context), "{context:?}");
            }
            assert_eq!(allows(&program, [CHAR_READ, 226, 129]), render.is_none());
        }
    }

    #[test]
    fn without_a_mig_device_none_can_be_opened_and_without_mig_nothing_is_denied() {
        let known_mig_devices = numbers(&[(509, 12), (509, 13)]);
        let without = assemble(&Limits { known_mig_devices, ..Limits::default() });
        let nowhere = assemble(&Limits::default());
        assert_taken(&without);
        assert_taken(&nowhere);
        for minor in [1, 2, 12, 13, 40] {
            assert!(!allows(&without, [CHAR_READ, 509, minor]), "{minor}");
            assert!(allows(&nowhere, [CHAR_READ, 509, minor]), "{minor}");
        }
    }
}
