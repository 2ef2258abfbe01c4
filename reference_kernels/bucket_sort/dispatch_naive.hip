// Unstable bucketing with global atomics only: a key costs one to be counted and one to be placed.
#include "experts.h"
#include "naive.hip"
