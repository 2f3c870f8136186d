"""What the measurements of worlds that change share: their arguments, and how their pages are written."""
import argparse
import json
import os


def arguments(doc):
    """(whether it is to be quick, the build folder, the folder for results in it)"""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--quick", action="store_true", help="fewer sizes and runs")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    folder = os.path.join(build, "bench")
    os.makedirs(folder, exist_ok=True)
    return args.quick, build, folder


def write_figures(folder, figures):
    """{name: (caption, svg or None)} into NAME.svg. Lines of Markdown that show them."""
    lines = []
    for name, (caption, svg) in figures.items():
        if svg:
            with open(os.path.join(folder, name + ".svg"), "w", encoding="utf-8") as out:
                out.write(svg)
            lines.append(f"\n![{caption}]({name}.svg)")
    return lines


def write_page(folder, name, results, text):
    """NAME.json and NAME.md."""
    with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as out:
        json.dump(results, out, indent=1)
    with open(os.path.join(folder, name + ".md"), "w", encoding="utf-8") as out:
        out.write("\n".join(text) + "\n")
