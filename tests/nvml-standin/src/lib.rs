//! a stand-in libnvidia-ml.so.1 for tests and the demo; never installed
