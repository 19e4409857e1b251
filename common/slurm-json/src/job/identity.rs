//! Who a job is and whose.

use super::Row;
use crate::field::{Field, in_all_versions, only_v38, since_v40};
use crate::version::Version;
use common::job::SetPlace;
use serde_json::json;

pub(super) const ROWS: &[Row] = &[
    (in_all_versions("admin_comment"), |_| Field::text("")),
    (in_all_versions("array_job_id"), |l| {
        let array = l.job.key.index.map_or(0, |_| l.job.key.job.0);
        Field::Count(Some(array.into()))
    }),
    (in_all_versions("array_task_id"), |l| {
        Field::Number(l.job.key.index.map(|index| index.0.into()))
    }),
    (in_all_versions("array_max_tasks"), |l| {
        Field::Count(Some(l.job.array_limit.unwrap_or(0).into()))
    }),
    (in_all_versions("array_task_string"), |_| Field::text("")),
    (in_all_versions("association_id"), |_| Field::integer_value(0)),
    (in_all_versions("cluster"), |l| Field::text(&l.page.cluster)),
    (since_v40("container_id"), |_| Field::text("")),
    (since_v40("cron"), |_| Field::text("")),
    (since_v40("extra"), |_| Field::text("")),
    (in_all_versions("federation_origin"), |_| Field::text("")),
    (in_all_versions("federation_siblings_active"), |_| Field::text("")),
    (in_all_versions("federation_siblings_viable"), |_| Field::text("")),
    (in_all_versions("flags"), |_| Field::Same(json!([]))),
    (in_all_versions("group_id"), |l| Field::integer_value(l.job.owner.gid.0)),
    (in_all_versions("group_name"), |l| {
        let gid = l.job.owner.gid;
        Field::text(l.page.groups.get(&gid).cloned().unwrap_or_else(|| gid.to_string()))
    }),
    (in_all_versions("het_job_id"), |l| {
        Field::Count(Some(l.job.set.map_or(0, |set| set.first.0.into())))
    }),
    (in_all_versions("het_job_id_set"), |l| Field::text_or_empty(l.job.set.map(component_range))),
    (in_all_versions("het_job_offset"), |l| {
        Field::Count(Some(l.job.set.map_or(0, |set| set.offset.into())))
    }),
    (in_all_versions("job_id"), |l| Field::integer_value(l.job.number.unwrap_or(l.job.key.job).0)),
    (in_all_versions("licenses"), |_| Field::text("")),
    (since_v40("licenses_allocated").since_version(Version::V43), |_| Field::text("")),
    (in_all_versions("mcs_label"), |_| Field::text("")),
    (in_all_versions("name"), |l| Field::text(&l.job.ask.name)),
    (in_all_versions("network"), |_| Field::text("")),
    (since_v40("selinux_context"), |_| Field::text("")),
    (only_v38("show_flags"), |_| Field::Same(json!(["SHOW_ALL", "SHOW_DETAIL"]))),
    (since_v40("show_flags").until_version(Version::V41), |_| {
        Field::Same(json!(["ALL", "DETAIL"]))
    }),
    (in_all_versions("system_comment"), |_| Field::text("")),
    (in_all_versions("user_id"), |l| Field::integer_value(l.job.owner.uid.0)),
    (in_all_versions("user_name"), |l| Field::text(&l.job.owner.name)),
    (in_all_versions("wckey"), super::wckey),
];

/// The job ids of all components, as Slurm writes them: `42-44`.
fn component_range(set: SetPlace) -> String {
    format!("{}-{}", set.first, set.first.0 + set.size - 1)
}
