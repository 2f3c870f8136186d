// SPDX-License-Identifier: BSD-3-Clause
// The function main of a UPC program, unless it has one of its own (upcc -extern-main).

int pli_upc_run(int argc, char **argv);

int main(int argc, char **argv)
{
    return pli_upc_run(argc, argv);
}
