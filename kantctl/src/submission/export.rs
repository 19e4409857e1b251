//! `--export`: what of the submitting shell's environment a job gets (man sbatch, `--export`).
//! Never reads the environment itself; it is handed over.

use std::collections::BTreeMap;
use std::str::FromStr;

/// What a job gets of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Export {
    /// Everything (`ALL`), to which `named` is added.
    pub all: bool,
    /// Names to pass on, and values to set.
    pub named: Vec<(String, Option<String>)>,
}

impl Default for Export {
    /// Everything, as in Slurm.
    fn default() -> Self {
        Self { all: true, named: Vec::new() }
    }
}

/// A text that is no list of variables.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExportError {
    #[error("`{0}` is no variable: write ALL, NONE, or NAME and NAME=VALUE separated by commas")]
    Name(String),
    /// A quote without its end.
    #[error("a quote is not closed")]
    Quote,
    /// NONE together with others.
    #[error("NONE stands alone: leave it out, the names given are all that is passed")]
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

/// Splits at commas outside quotes and takes the quotes away: `A,B='x,y'`.
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
    /// The environment a job gets, of `shell`'s. A name that `shell` does not have is left out.
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
    fn the_environment_passes_as_slurm_passes_it() {
        assert_eq!(passed("ALL"), ["EDITOR=vi", "HOME=/h", "PATH=/bin"]);
        assert_eq!(passed("NONE"), Vec::<String>::new());
        assert_eq!(passed("EDITOR"), ["EDITOR=vi"]);
        assert_eq!(passed("EDITOR=ed,X=1=2"), ["EDITOR=ed", "X=1=2"]);
        assert_eq!(passed("ALL,EDITOR=ed"), ["EDITOR=ed", "HOME=/h", "PATH=/bin"]);
        assert_eq!(passed("NOSUCH,X="), ["X="]);
        assert_eq!(passed("X='a,b',Y=\"c d\""), ["X=a,b", "Y=c d"]);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", ",", "A,,B", "=x", "A B", "X='a", "NONE,A", "A\0"] {
            assert!(text.parse::<Export>().is_err(), "{text:?}");
        }
    }
}
