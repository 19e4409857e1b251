//! Run-length encoded counts per node of a job in Slurm's form: `8(x2),4` (man sbatch,
//! SLURM_TASKS_PER_NODE).

/// The maximum number of nodes in one text; no job has more.
const NODES_MAX: usize = 100_000;

/// The text is not a list of counts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a list of counts per node, such as 8(x2),4")]
pub struct CountsError(pub String);

/// 8, 8, 4 as `8(x2),4`.
#[must_use]
pub fn encode_runs(counts: &[u32]) -> String {
    let runs = counts.chunk_by(|a, b| a == b).map(|run| match run {
        [one] => one.to_string(),
        many => format!("{}(x{})", many[0], many.len()),
    });
    runs.collect::<Vec<_>>().join(",")
}

/// `8(x2),4` as 8, 8, 4.
///
/// # Errors
/// [`CountsError`].
pub fn decode_runs(text: &str) -> Result<Vec<u32>, CountsError> {
    let wrong = || CountsError(text.to_owned());
    let mut counts = Vec::new();
    for part in text.split(',') {
        let (count, times) = match part.split_once("(x") {
            None => (part, 1),
            Some((count, times)) => {
                let times = times.strip_suffix(')').and_then(|times| times.parse().ok());
                (count, times.ok_or_else(wrong)?)
            }
        };
        let count: u32 = count.trim().parse().map_err(|_| wrong())?;
        if times > NODES_MAX - counts.len() {
            return Err(wrong());
        }
        counts.extend(std::iter::repeat_n(count, times));
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn counts_fold_as_slurm_folds_them() {
        for (counts, folded) in
            [(&[8_u32, 8, 4][..], "8(x2),4"), (&[1], "1"), (&[2, 1, 2, 2], "2,1,2(x2)"), (&[], "")]
        {
            assert_eq!(encode_runs(counts), folded);
        }
        for wrong in ["", "8(x2,4", "1(x9999999)", "1(x100000),1", "x"] {
            assert!(decode_runs(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_folded_unfolds(counts in vec(0_u32..9, 1..20)) {
            prop_assert_eq!(decode_runs(&encode_runs(&counts)), Ok(counts));
        }
    }
}
