//! the kant command line
