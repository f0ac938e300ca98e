// SPDX-License-Identifier: Apache-2.0
// The program `lockstep`, without data sets of a program.
#include "lockstep/command.h"

int main(int argc, char** argv) { return lockstep::run_command(argc, argv); }
