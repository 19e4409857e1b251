//! Descriptions of jobs in requests.

use super::*;

#[test]
fn each_field_has_one_row_in_each_version() {
    for version in Version::all() {
        let of_version = |row: &&Row| (row.from..=row.until).contains(&version);
        let mut names: Vec<&str> = FIELDS.iter().filter(of_version).map(|row| row.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count, "{version}");
        assert!(count > 60, "{version}: {count}");
    }
}
