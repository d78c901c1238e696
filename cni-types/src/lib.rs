//! The words of CNI.
