//! Events: sets that wait for XID errors. Each set gets each error of the GPUs it watches once, in
//! the order of their time; one that was due before the set was made is delivered at once.

use crate::entry::{answer, device, with_state};
use crate::ffi::{Answer, Fault, Out, put};
use crate::handle::Handle;
use crate::machine::Gpu;
use crate::state::{self, DueXid, State};
use nvml_wrapper_sys::bindings::*;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_uint, c_ulonglong};
use std::ptr::without_provenance_mut;
use std::time::{Duration, Instant};

/// How often a waiting call looks whether the machine file has changed.
const LOOK_EVERY: Duration = Duration::from_millis(20);

const XID: c_ulonglong = nvmlEventTypeXidCriticalError as c_ulonglong;
const ECC: c_ulonglong =
    (nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError) as c_ulonglong;

/// What one set watches and has delivered already.
#[derive(Default)]
pub struct EventSet {
    /// Event types by GPU index.
    watched: BTreeMap<usize, c_ulonglong>,
    /// Positions in the state's list of XIDs.
    delivered: BTreeSet<usize>,
}

impl EventSet {
    /// The next XID error for this set and its position; it may lie in the future.
    fn next<'a>(&self, xids: &'a [DueXid]) -> Option<(usize, &'a DueXid)> {
        let watched = |xid: &DueXid| self.watched.get(&xid.gpu).is_some_and(|t| t & XID != 0);
        let waiting =
            xids.iter().enumerate().filter(|(i, x)| watched(x) && !self.delivered.contains(i));
        waiting.min_by_key(|(_, xid)| xid.due)
    }
}

/// A set as callers hold it: its number, never dereferenced.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct SetHandle(nvmlEventSet_t);

impl SetHandle {
    fn find(self, state: &mut State) -> Answer<&mut EventSet> {
        state.sets.get_mut(&self.0.addr()).ok_or(Fault::INVALID)
    }
}

/// ECC events can be watched where there is ECC, but only XIDs ever come.
fn supported_events(gpu: &Gpu) -> c_ulonglong {
    if gpu.ecc.is_some() { XID | ECC } else { XID }
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetSupportedEventTypes(
    handle: Handle,
    types: Out<c_ulonglong>,
) -> nvmlReturn_t {
    device(handle, |d| put(types, supported_events(d.gpu)))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlEventSetCreate(set: Out<SetHandle>) -> nvmlReturn_t {
    with_state(|state| {
        let number = state.sets.last_key_value().map_or(1, |(last, _)| last + 1);
        put(set, SetHandle(without_provenance_mut(number)))?;
        state.sets.insert(number, EventSet::default());
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceRegisterEvents(
    handle: Handle,
    types: c_ulonglong,
    set: SetHandle,
) -> nvmlReturn_t {
    with_state(|state| {
        let (index, _) = handle.parts().ok_or(Fault::INVALID)?;
        let gpu = state.machine.gpus.get(index).ok_or(Fault::INVALID)?;
        if types & !supported_events(gpu) != 0 {
            return Err(Fault::NOT_SUPPORTED);
        }
        *set.find(state)?.watched.entry(index).or_default() |= types;
        Ok(())
    })
}

/// Waits for the next event, for at most `timeout_ms`, without holding the lock.
#[unsafe(no_mangle)]
pub extern "C" fn nvmlEventSetWait_v2(
    set: SetHandle,
    data: Out<nvmlEventData_t>,
    timeout_ms: c_uint,
) -> nvmlReturn_t {
    answer(|| {
        let data = data.ok_or(Fault::INVALID)?;
        let end = Instant::now() + Duration::from_millis(u64::from(timeout_ms));
        loop {
            let now = Instant::now();
            match state::with(|state| take_next(state, set, now))? {
                Next::Event(event) => return put(Some(data), event),
                Next::In(_) if now >= end => return Err(Fault::TIMEOUT),
                Next::In(wait) => std::thread::sleep(wait.min(end - now)),
            }
        }
    })
}

/// An event to deliver, or how long to sleep before looking again.
enum Next {
    Event(nvmlEventData_t),
    In(Duration),
}

fn take_next(state: &mut State, handle: SetHandle, now: Instant) -> Answer<Next> {
    let set = state.sets.get_mut(&handle.0.addr()).ok_or(Fault::INVALID)?;
    let Some((position, xid)) = set.next(&state.xids) else {
        return Ok(Next::In(LOOK_EVERY));
    };
    if xid.due > now {
        return Ok(Next::In(LOOK_EVERY.min(xid.due - now)));
    }
    set.delivered.insert(position);
    Ok(Next::Event(nvmlEventData_t {
        device: Handle::gpu(xid.gpu).raw(),
        eventType: XID,
        eventData: xid.code,
        gpuInstanceId: c_uint::MAX,
        computeInstanceId: c_uint::MAX,
    }))
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlEventSetFree(set: SetHandle) -> nvmlReturn_t {
    with_state(|state| match state.sets.remove(&set.0.addr()) {
        Some(_) => Ok(()),
        None => Err(Fault::INVALID),
    })
}
