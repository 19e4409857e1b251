//! `--export`: the part of the submitting shell's environment that a job gets (man sbatch,
//! `--export`).

use std::collections::BTreeMap;
use std::str::FromStr;

/// Variables to pass on to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// The whole environment (`ALL`), in addition to `named`.
    pub all: bool,
    /// Names to pass on, and values to set.
    pub named: Vec<(String, Option<String>)>,
}

impl Default for Export {
    /// The whole environment, as in Slurm.
    fn default() -> Self {
        Self { all: true, named: Vec::new() }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    #[error("`{0}` is not a variable: write ALL, NONE, or NAME and NAME=VALUE separated by commas")]
    Name(String),
    #[error("a quote is not closed")]
    Quote,
    #[error("NONE cannot be combined with names: omit it, and only the names are passed on")]
    None,
}

impl FromStr for Export {
    type Err = ExportError;
    fn from_str(text: &str) -> Result<Self, ExportError> {
        let words = split_commas(text)?;
        let alone = words.len() == 1;
        let mut export = Self { all: false, named: Vec::new() };
        for word in words {
            match word.as_str() {
                "ALL" => export.all = true,
                "NONE" | "NIL" if alone => {}
                "NONE" | "NIL" => return Err(ExportError::None),
                _ => export.named.push(read_variable(&word)?),
            }
        }
        Ok(export)
    }
}

/// `NAME` or `NAME=VALUE`.
fn read_variable(word: &str) -> Result<(String, Option<String>), ExportError> {
    let (name, value) = match word.split_once('=') {
        None => (word, None),
        Some((name, value)) => (name, Some(value.to_owned())),
    };
    let legal = |c: char| !c.is_whitespace() && !c.is_control();
    if name.is_empty() || !name.chars().all(legal) || word.contains('\0') {
        return Err(ExportError::Name(word.to_owned()));
    }
    Ok((name.to_owned(), value))
}

/// Splits at commas outside quotes, and removes the quotes: `A,B='x,y'`.
fn split_commas(text: &str) -> Result<Vec<String>, ExportError> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in text.chars() {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            (_, Some(_)) => word.push(c),
            ('\'' | '"', None) => quote = Some(c),
            (',', None) => words.push(std::mem::take(&mut word)),
            (_, None) => word.push(c),
        }
    }
    words.push(word);
    if quote.is_some() { Err(ExportError::Quote) } else { Ok(words) }
}

impl Export {
    /// The environment for a job, from `shell`'s. Names that `shell` does not have are omitted.
    #[must_use]
    pub fn apply(&self, shell: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut passed = if self.all { shell.clone() } else { BTreeMap::new() };
        for (name, value) in &self.named {
            if let Some(value) = value.as_ref().or_else(|| shell.get(name)) {
                passed.insert(name.clone(), value.clone());
            }
        }
        passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(export: &str) -> Vec<String> {
        let shell = [("HOME", "/h"), ("PATH", "/bin"), ("EDITOR", "vi")];
        let shell = shell.map(|(n, v)| (n.to_owned(), v.to_owned())).into();
        let export: Export = export.parse().unwrap();
        export.apply(&shell).into_iter().map(|(n, v)| format!("{n}={v}")).collect()
    }

    #[test]
    fn variables_are_passed_on_as_in_slurm() {
        assert_eq!(passed("ALL"), ["EDITOR=vi", "HOME=/h", "PATH=/bin"]);
        assert_eq!(passed("NONE"), Vec::<String>::new());
        assert_eq!(passed("EDITOR"), ["EDITOR=vi"]);
        assert_eq!(passed("EDITOR=ed,X=1=2"), ["EDITOR=ed", "X=1=2"]);
        assert_eq!(passed("ALL,EDITOR=ed"), ["EDITOR=ed", "HOME=/h", "PATH=/bin"]);
        assert_eq!(passed("NOSUCH,X="), ["X="]);
        assert_eq!(passed("X='a,b',Y=\"c d\""), ["X=a,b", "Y=c d"]);
    }

    #[test]
    fn invalid_lists_are_refused() {
        for text in ["", ",", "A,,B", "=x", "A B", "X='a", "NONE,A", "A\0"] {
            assert!(text.parse::<Export>().is_err(), "{text:?}");
        }
    }
}
