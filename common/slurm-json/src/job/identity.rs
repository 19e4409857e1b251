//! Who a job is and whose.

use super::Row;
use crate::field::{Field, always, plain, stated};
use crate::version::Version;
use common::job::SetPlace;
use serde_json::json;

pub(super) const ROWS: &[Row] = &[
    (always("admin_comment"), |_| Field::text("")),
    (always("array_job_id"), |l| {
        let array = l.job.key.index.map_or(0, |_| l.job.key.job.0);
        Field::Count(Some(array.into()))
    }),
    (always("array_task_id"), |l| Field::Number(l.job.key.index.map(|index| index.0.into()))),
    (always("array_max_tasks"), |l| Field::Count(Some(l.job.array_limit.unwrap_or(0).into()))),
    (always("array_task_string"), |_| Field::text("")),
    (always("association_id"), |_| Field::whole(0)),
    (always("cluster"), |l| Field::text(&l.page.cluster)),
    (stated("container_id"), |_| Field::text("")),
    (stated("cron"), |_| Field::text("")),
    (stated("extra"), |_| Field::text("")),
    (always("federation_origin"), |_| Field::text("")),
    (always("federation_siblings_active"), |_| Field::text("")),
    (always("federation_siblings_viable"), |_| Field::text("")),
    (always("flags"), |_| Field::Same(json!([]))),
    (always("group_id"), |l| Field::whole(l.job.owner.gid.0)),
    (always("group_name"), |l| {
        let gid = l.job.owner.gid;
        Field::text(l.page.groups.get(&gid).cloned().unwrap_or_else(|| gid.to_string()))
    }),
    (always("het_job_id"), |l| Field::Count(Some(l.job.set.map_or(0, |set| set.first.0.into())))),
    (always("het_job_id_set"), |l| Field::text_or_empty(l.job.set.map(component_range))),
    (always("het_job_offset"), |l| {
        Field::Count(Some(l.job.set.map_or(0, |set| set.offset.into())))
    }),
    (always("job_id"), |l| Field::whole(l.job.number.unwrap_or(l.job.key.job).0)),
    (always("licenses"), |_| Field::text("")),
    (stated("licenses_allocated").from(Version::V43), |_| Field::text("")),
    (always("mcs_label"), |_| Field::text("")),
    (always("name"), |l| Field::text(&l.job.ask.name)),
    (always("network"), |_| Field::text("")),
    (stated("selinux_context"), |_| Field::text("")),
    (plain("show_flags"), |_| Field::Same(json!(["SHOW_ALL", "SHOW_DETAIL"]))),
    (stated("show_flags").until(Version::V41), |_| Field::Same(json!(["ALL", "DETAIL"]))),
    (always("system_comment"), |_| Field::text("")),
    (always("user_id"), |l| Field::whole(l.job.owner.uid.0)),
    (always("user_name"), |l| Field::text(&l.job.owner.name)),
    (always("wckey"), super::wckey),
];

/// The job ids of all components, as Slurm writes them: `42-44`.
fn component_range(set: SetPlace) -> String {
    format!("{}-{}", set.first, set.first.0 + set.size - 1)
}
