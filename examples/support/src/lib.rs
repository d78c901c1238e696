//! What plugins share below CNI.
