"""Each page of docs/ is in a group of the site: Sphinx warns of a page that nothing leads to, but is not at hand where tests run."""

import importlib.util
import sys

import rule

sys.dont_write_bytecode = True
sys.path.insert(0, str(rule.source / "docs/site"))
spec = importlib.util.spec_from_file_location("pages", rule.source / "docs/site/pages.py")
pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(pages)

grouped = {name for names in pages.GROUPS.values() for name in names}
written = {str(file.relative_to("docs").with_suffix("")) for file in rule.files("*.md") if file.parts[0] == "docs"}
written = {name for name in written if "/" not in name or name.split("/")[0] not in pages.FOLDERS}
MADE = {"reference_python", "group_cpp", *(f"group_{folder}" for folder in pages.FOLDERS)}

broken = [f"docs/{name}.md: no group in docs/site/pages.py names it" for name in sorted(written - grouped)]
broken += [f"docs/site/pages.py: '{name}' is not a page of docs/" for name in sorted(grouped - written - MADE)]
rule.report(broken, f"{len(written)} pages in {len(pages.GROUPS)} groups")
