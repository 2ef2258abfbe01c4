#pragma once
#include "qualifiers.h"
