/*
 * What the guard knows of git's commands: see guard_table.h.
 *
 * Found out from git 2.39's manual pages, `git <command> -h` and --git-completion-helper-all, and by trying:
 * t4000 runs each row's reading forms in a repository full of traps and compares it before and after.
 *
 * SPDX-License-Identifier: MIT
 */
#include "work/guard_table.h"

#include <string.h>

/*
 * Sets of options that several rows have
 */

/* What all that shows a difference takes. */
#define DIFF                                                                                                         \
	"p|patch u s|no-patch U|unified? W|function-context raw patch-with-raw patch-with-stat numstat shortstat "   \
	"X|dirstat? cumulative dirstat-by-file? check summary name-only name-status stat? stat-width= "              \
	"stat-name-width= stat-graph-width= stat-count= compact-summary binary full-index color? "                   \
	"ws-error-highlight= z abbrev? src-prefix= dst-prefix= line-prefix= no-prefix default-prefix "               \
	"inter-hunk-context= output-indicator-new= output-indicator-old= output-indicator-context= "                 \
	"B|break-rewrites? M|find-renames? D|irreversible-delete C|find-copies? find-copies-harder no-renames "      \
	"rename-empty follow l= minimal w|ignore-all-space b|ignore-space-change ignore-space-at-eol "               \
	"ignore-cr-at-eol ignore-blank-lines I|ignore-matching-lines= indent-heuristic patience histogram "          \
	"diff-algorithm= anchored= word-diff? word-diff-regex= color-words? color-moved? color-moved-ws= relative? " \
	"a|text R exit-code quiet !ext-diff !textconv ignore-submodules? submodule?d ita-invisible-in-index "        \
	"ita-visible-in-index S= G= pickaxe-all pickaxe-regex O= rotate-to= skip-to= find-object= diff-filter= "     \
	"!output= "

/* What all that walks history takes, with what it shows of each commit. */
#define WALK                                                                                                      \
	"max-count= skip= n= max-age= since= since-as-filter= after= min-age= before= until= first-parent "       \
	"exclude-first-parent-only ancestry-path? g|walk-reflogs default= merge topo-order simplify-merges "      \
	"simplify-by-decoration date-order author-date-order early-output? parents dense sparse in-commit-order " \
	"remove-empty merges no-merges min-parents? no-min-parents max-parents? no-max-parents boundary "         \
	"left-right left-only right-only cherry count cherry-mark cherry-pick objects objects-edge "              \
	"objects-edge-aggressive verify-objects unpacked? no-kept-objects? r t m c cc dd !remerge-diff "          \
	"no-diff-merges combined-all-paths diff-merges=r v pretty?% format?% expand-tabs? show-notes? notes? "    \
	"no-notes standard-notes show-linear-break? oneline graph encode-email-headers root no-commit-id always " \
	"abbrev-commit full-diff show-pulls full-history relative-date date= log-size author= committer= "        \
	"grep-reflog= grep= basic-regexp E|extended-regexp i|regexp-ignore-case F|fixed-strings P|perl-regexp "   \
	"all-match invert-grep encoding= reverse children ignore-missing exclude-promisor-objects "               \
	"!show-signature all branches? tags? remotes? reflog not no-walk? do-walk bisect glob= indexed-objects "  \
	"!alternate-refs exclude= exclude-hidden= single-worktree filter? no-filter stdin "

/* What names revisions without a word, for commands that refuse to go without. */
#define REVISIONS \
	":1* all:0* branches?:0* tags?:0* remotes?:0* glob=:0* reflog:0* indexed-objects:0* stdin:0* default=:0* bisect:0* "

/* git log and those like it. */
#define LOG                                                                                                     \
	"q|quiet source use-mailmap mailmap clear-decorations decorate-refs= decorate-refs-exclude= decorate? " \
	"L= " WALK DIFF

/* git blame. */
#define BLAME                                                                                                      \
	"incremental b root show-stats progress score-debug f|show-name n|show-number p|porcelain line-porcelain " \
	"c t l s e|show-email w ignore-rev= ignore-revs-file= color-lines color-by-age minimal S= contents= C? "   \
	"M? L= abbrev? h " WALK DIFF

#define REVS (EWS_GUARD_REVS | EWS_GUARD_NUMBER)
#define SHOWS (EWS_GUARD_EXT_DIFF | EWS_GUARD_TEXTCONV)

/*
 * Why not, and what instead
 */
#define NO_OUTPUT "Some of its options write files or start programs"
#define SEE_DIFF "`git ews diff` shows your change; it is kept without a commit"
#define SEE_BASE "`git ews revert` takes a whole workspace back to its base; `git show HEAD:<file>` prints one file"
#define SEE_LIST "`git branch --list`, `git log --all` and `git rev-parse` tell what there is"
#define STAYS_HERE "What you do here is kept by the session; whoever started it takes it further"
#define KNOWN_REMOTES "`git remote -v` and `git branch -r` tell what is known without asking a remote"
#define PLAIN_FILES "plain files will do: `git ews diff` finds what changed, was made or is gone"
#define NO_PROGRAM "It starts programs that a repository's settings may name"

#define WRITES EWS_GUARD_WRITE
#define DESTROYS EWS_GUARD_DESTRUCTIVE
#define ANY EWS_GUARD_ANY

/* A command that never reads only. */
#define NEVER(name, flags, op, reason, suggestion)           \
	{                                                    \
		name, NULL, flags, 0, op, reason, suggestion \
	}

const struct ews_guard_row ews_guard_rows[] = {
	/* What changed */
	{ "status",
	  "v|verbose s|short b|branch show-stash ahead-behind porcelain? long z|null u|untracked-files? ignored? "
	  "ignore-submodules? column? no-renames M|find-renames?",
	  EWS_GUARD_STATUS | EWS_GUARD_INDEX, ANY, WRITES, NO_OUTPUT, NULL },
	{ "diff", "cached staged merge-base no-index:22 base ours theirs q " DIFF WALK,
	  REVS | SHOWS | EWS_GUARD_DIFF | EWS_GUARD_INDEX, ANY, WRITES, NO_OUTPUT, SEE_DIFF },
	{ "diff-files", "q base ours theirs " DIFF WALK, REVS | SHOWS | EWS_GUARD_DIFF | EWS_GUARD_INDEX, ANY,
	  WRITES, NO_OUTPUT, SEE_DIFF },
	{ "diff-index", ":1* cached merge-base " DIFF WALK, REVS | SHOWS | EWS_GUARD_DIFF | EWS_GUARD_INDEX, ANY,
	  WRITES, NO_OUTPUT, SEE_DIFF },
	{ "diff-tree", ":1* stdin:0* merge-base " DIFF WALK, REVS | SHOWS | EWS_GUARD_DIFF | EWS_GUARD_STORED, ANY,
	  WRITES, NO_OUTPUT, SEE_DIFF },
	NEVER("range-diff", 0, EWS_GUARD_UNKNOWN,
	      "It runs git log of its own, which starts programs that attributes name",
	      "compare with `git log -p` or `git cherry`"),
	NEVER("difftool", 0, EWS_GUARD_UNKNOWN, NO_PROGRAM, "`git diff` shows the same as text"),
	NEVER("mergetool", 0, WRITES, NO_PROGRAM, SEE_DIFF),

	/* History */
	{ "log", LOG, REVS | SHOWS | EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT, NULL },
	{ "show", LOG, REVS | SHOWS | EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT, NULL },
	{ "whatchanged", "i-still-use-this " LOG, REVS | SHOWS, ANY, WRITES, NO_OUTPUT, NULL },
	{ "reflog", LOG, REVS | SHOWS | EWS_GUARD_VERBS | EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT, NULL },
	{ "reflog show", LOG, REVS | SHOWS | EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT, NULL },
	{ "reflog exists", ":1*", 0, ANY, WRITES, NO_OUTPUT, NULL },
	{ "reflog list", "", 0, 0, WRITES, NO_OUTPUT, NULL },
	NEVER("reflog expire", 0, DESTROYS, "It would delete entries that lead back to lost work",
	      "`git reflog` lists them"),
	NEVER("reflog delete", 0, DESTROYS, "It would delete entries that lead back to lost work",
	      "`git reflog` lists them"),
	NEVER("reflog drop", 0, DESTROYS, "It would delete entries that lead back to lost work",
	      "`git reflog` lists them"),
	{ "shortlog", "c|committer n|numbered s|summary e|email w? group= " WALK DIFF, REVS | EWS_GUARD_STORED, ANY,
	  WRITES, NO_OUTPUT, NULL },
	{ "blame", ":1* " BLAME, REVS | EWS_GUARD_TEXTCONV, ANY, WRITES, NO_OUTPUT, NULL },
	{ "annotate", ":1* " BLAME, REVS | EWS_GUARD_TEXTCONV, ANY, WRITES, NO_OUTPUT, NULL },
	{ "rev-list",
	  REVISIONS
	  "header timestamp bisect bisect-all bisect-vars use-bitmap-index test-bitmap progress? "
	  "filter-provided-objects filter-print-omitted missing? object-names commit-header disk-usage? q|quiet " WALK DIFF,
	  REVS | EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT, NULL },
	{ "show-branch",
	  "a|all r|remotes color? more? list no-name current sha1-name merge-base independent topo-order topics "
	  "sparse date-order g|reflog?",
	  EWS_GUARD_STOP | EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT, NULL },
	{ "cherry", ":03 abbrev? v|verbose", EWS_GUARD_TAME | EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT, NULL },
	{ "describe",
	  "contains debug all tags long first-parent abbrev? exact-match candidates= match= exclude= always dirty?:00 "
	  "broken?:00",
	  EWS_GUARD_INDEX, ANY, WRITES, NO_OUTPUT, NULL },
	{ "name-rev", "name-only tags refs= exclude= all stdin annotate-stdin undefined always peel-tag",
	  EWS_GUARD_TAME | EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT, NULL },
	{ "merge-base", ":2* a|all octopus:1* independent:0* is-ancestor:22 fork-point:12",
	  EWS_GUARD_TAME | EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT, NULL },
	{ "format-patch",
	  "@stdout n|numbered N|no-numbered s|signoff cover-letter numbered-files suffix= start-number= "
	  "v|reroll-count= filename-max-length= rfc cover-from-description= subject-prefix= !o|output-directory= "
	  "k|keep-subject no-binary zero-commit ignore-if-in-upstream p|no-stat add-header= to= cc= from? "
	  "in-reply-to= attach? inline? thread? signature= base= signature-file= q|quiet progress !interdiff= "
	  "!range-diff= creation-factor= force-in-body-from " WALK DIFF,
	  REVS | SHOWS, ANY, WRITES, "It would write a file for each commit",
	  "add --stdout to print them, without --interdiff and --range-diff" },
	NEVER("request-pull", EWS_GUARD_OUTSIDE, EWS_GUARD_UNKNOWN, "It asks a remote", KNOWN_REMOTES),

	/* Files and objects */
	{ "grep",
	  ":1* cached no-index untracked exclude-standard recurse-submodules v|invert-match i|ignore-case w|word-regexp "
	  "a|text I !textconv r|recursive max-depth= E|extended-regexp G|basic-regexp F|fixed-strings P|perl-regexp "
	  "n|line-number column h H full-name l|files-with-matches name-only L|files-without-match z|null "
	  "o|only-matching c|count color? break heading C|context= B|before-context= A|after-context= threads= "
	  "p|show-function W|function-context f=:0* e=:0* and or not q|quiet all-match !O|open-files-in-pager? !ext-grep "
	  "m|max-count=",
	  EWS_GUARD_NUMBER | EWS_GUARD_TEXTCONV, ANY, EWS_GUARD_UNKNOWN, "-O and --textconv start programs",
	  "leave the option out: the matches are printed" },
	{ "ls-files",
	  "z t v f c|cached d|deleted m|modified o|others i|ignored s|stage k|killed directory eol empty-directory "
	  "u|unmerged resolve-undo x|exclude= X|exclude-from= exclude-per-directory= exclude-standard full-name "
	  "recurse-submodules error-unmatch with-tree= abbrev? debug deduplicate sparse format=",
	  EWS_GUARD_TAME, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ls-tree", ":1* d r t z l|long name-only name-status object-only full-name full-tree format= abbrev?",
	  EWS_GUARD_TAME | EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT, NULL },
	{ "cat-file",
	  ":22 e:11 p:11 t:11 s:11 allow-unknown-type use-mailmap mailmap batch?:00 batch-check?:00 z Z batch-command?:00 batch-all-objects "
	  "buffer follow-symlinks unordered !textconv !filters path=",
	  EWS_GUARD_STORED, ANY, EWS_GUARD_UNKNOWN, "--textconv and --filters start programs that attributes name",
	  "`git cat-file -p` prints what is stored" },
	{ "hash-object", "t= !w @stdin:00 stdin-paths @no-filters:0* literally !path=", 0, ANY, EWS_GUARD_UNKNOWN,
	  "It would write objects, or start programs that attributes name",
	  "with --no-filters, or --stdin, and without -w it prints the id" },
	{ "rev-parse", "", EWS_GUARD_LOOSE | EWS_GUARD_TAME | EWS_GUARD_STORED | EWS_GUARD_HOOKS, ANY, WRITES,
	  NO_OUTPUT, NULL },
	{ "archive", "@l|list #remote=", EWS_GUARD_EXACT, 0, EWS_GUARD_UNKNOWN,
	  "It starts programs that attributes and settings name, for each file and format",
	  "`git ls-tree -r` lists the files, `git show <commit>:<file>` prints one" },
	{ "check-attr", ":2* a|all:1* cached stdin:0* z source=", 0, ANY, WRITES, NO_OUTPUT, NULL },
	{ "check-ignore", ":1* q|quiet v|verbose stdin:00 z n|non-matching no-index", EWS_GUARD_TAME, ANY, WRITES,
	  NO_OUTPUT, NULL },
	{ "check-mailmap", ":1* stdin:0* mailmap-file= mailmap-blob=", 0, ANY, WRITES, NO_OUTPUT, NULL },
	{ "count-objects", ":00 v|verbose H|human-readable", 0, ANY, WRITES, NO_OUTPUT, NULL },
	{ "fsck",
	  "v|verbose unreachable dangling tags root cache reflogs full connectivity-only strict !lost-found progress "
	  "name-objects references",
	  0, ANY, WRITES, "--lost-found writes files", "without it the objects are named" },
	{ "verify-pack", ":1* v|verbose s|stat-only object-format=", 0, ANY, WRITES, NO_OUTPUT, NULL },
	{ "fast-export",
	  REVISIONS "progress= signed-tags= tag-of-filtered-object= reencode= !export-marks= import-marks= "
		    "import-marks-if-exists= fake-missing-tagger full-tree use-done-feature no-data refspec= anonymize "
		    "anonymize-map= reference-excluded-parents show-original-ids mark-tags " WALK DIFF,
	  REVS | EWS_GUARD_DASHES_DROPPED, ANY, WRITES, "--export-marks writes a file", NULL },
	{ "merge-file", ":33 @p|stdout diff3 zdiff3 ours theirs union marker-size= diff-algorithm= q|quiet L=", 0,
	  ANY, DESTROYS, "It would overwrite the first file", "with -p it prints the result" },
	NEVER("merge-tree", 0, WRITES, "It writes objects, or starts merge programs that attributes name",
	      "`git diff A...B` shows what a merge would bring"),
	NEVER("unpack-file", 0, WRITES, "It would write a file", "`git cat-file -p` prints it"),
	NEVER("verify-commit", 0, EWS_GUARD_UNKNOWN, "It starts the program that checks signatures",
	      "`git cat-file -p` prints the signature"),
	NEVER("verify-tag", 0, EWS_GUARD_UNKNOWN, "It starts the program that checks signatures",
	      "`git cat-file -p` prints the signature"),
	NEVER("fmt-merge-msg", 0, EWS_GUARD_UNKNOWN, "It starts the program that checks signatures", NULL),

	/* Names */
	{ "branch",
	  "v|verbose q|quiet t|track? !set-upstream !u|set-upstream-to= !unset-upstream color? r|remotes +contains= "
	  "+no-contains= +with= +without= abbrev? a|all !d|delete !D !m|move !M !c|copy !C +l|list +show-current "
	  "create-reflog !edit-description f|force +merged= +no-merged= column? sort=k +points-at= i|ignore-case "
	  "recurse-submodules format=%",
	  EWS_GUARD_STORED, 0, WRITES, "It would make, move or delete a branch", SEE_LIST },
	{ "tag",
	  "+l|list +n? !d|delete !v|verify a|annotate !m|message= !F|file= e|edit !s|sign cleanup= !u|local-user= "
	  "f|force create-reflog column? +contains= +no-contains= +with= +without= +merged= +no-merged= sort=k "
	  "+points-at= format=% color? i|ignore-case",
	  EWS_GUARD_STORED, 0, WRITES, "It would make, move or delete a tag", "`git tag --list` lists them" },
	{ "for-each-ref",
	  "s|shell p|perl python tcl count= format=% color? sort=k points-at= merged= no-merged= contains= "
	  "no-contains= ignore-case stdin exclude= omit-empty include-root-refs start-after=",
	  EWS_GUARD_TAME | EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT, NULL },
	{ "show-ref",
	  "tags heads branches verify:1* exists:11 head d|dereference s|hash? abbrev? q|quiet exclude-existing?",
	  EWS_GUARD_TAME | EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT, NULL },
	{ "symbolic-ref", ":1* q|quiet !d|delete short recurse !m=", EWS_GUARD_STORED, 1, WRITES,
	  "It would point a name elsewhere", "`git symbolic-ref <name>` prints where it points" },
	{ "check-ref-format", ":11 allow-onelevel normalize print refspec-pattern branch",
	  EWS_GUARD_EXACT | EWS_GUARD_TAME, ANY, WRITES, NO_OUTPUT, NULL },
	NEVER("update-ref", 0, DESTROYS, "It would move or delete branches and tags", SEE_LIST),
	NEVER("pack-refs", 0, WRITES, "It would rewrite how branches are stored", NULL),
	{ "replace", "+l|list:01 !d|delete !e|edit !g|graft !convert-graft-file f|force raw format=", 0, 0, WRITES,
	  "It would put an object in the place of another", "`git replace --list` lists them" },
	{ "notes", "ref=", EWS_GUARD_VERBS, 0, WRITES, "It would change notes",
	  "`git notes list` and `show` read them" },
	{ "notes list", ":01", 0, ANY, WRITES, "It would change notes", NULL },
	{ "notes show", ":01", 0, ANY, WRITES, "It would change notes", NULL },
	{ "notes get-ref", "", 0, 0, WRITES, "It would change notes", NULL },
	{ "notes prune", "@n|dry-run v|verbose", 0, 0, DESTROYS, "It would delete notes", "with -n it lists them" },

	/* The index and the files */
	{ "add",
	  "@n|dry-run v|verbose !i|interactive !p|patch !e|edit f|force u|update renormalize N|intent-to-add A|all "
	  "ignore-removal refresh ignore-errors ignore-missing sparse chmod= pathspec-from-file= pathspec-file-nul "
	  "warn-embedded-repo",
	  EWS_GUARD_INDEX | EWS_GUARD_COMMIT, ANY, WRITES, "Staging would change the repository's index",
	  "nothing has to be staged: `git ews diff` shows every change, new files too" },
	NEVER("stage", EWS_GUARD_COMMIT, WRITES, "Staging would change the repository's index",
	      "nothing has to be staged: `git ews diff` shows every change, new files too"),
	/* even with --dry-run it moves the git directories of submodules first */
	NEVER("rm", 0, DESTROYS, "It would delete files and change the index, or move what submodules have",
	      "`rm` deletes them: `git ews diff` shows it; `git ls-files <path>` lists them"),
	{ "mv", ":2* @n|dry-run v|verbose f|force k sparse", EWS_GUARD_INDEX, ANY, WRITES,
	  "It would rename files and change the index", "`mv` renames them: `git ews diff` shows it" },
	{ "clean", "@n|dry-run q|quiet f|force !i|interactive d e|exclude= x X", 0, ANY, DESTROYS,
	  "It would delete files that git does not keep", "with -n it lists them" },
	{ "apply",
	  "exclude= include= p= no-add @stat @numstat @summary @check index N|intent-to-add cached unsafe-paths "
	  "!apply !3|3way !build-fake-ancestor= z C= whitespace= ignore-space-change ignore-whitespace R|reverse "
	  "unidiff-zero !reject allow-overlap v|verbose q|quiet inaccurate-eof recount directory= allow-empty "
	  "allow-binary-replacement binary",
	  0, ANY, WRITES, "It would change files, and with --index the index",
	  "`patch -p1` changes files; with --check, --stat or --numstat `git apply` reads" },
	NEVER("commit", EWS_GUARD_COMMIT, WRITES, "Commits would permanently alter repository history", SEE_DIFF),
	NEVER("reset", 0, DESTROYS, "It would throw staged or changed files away, or move the branch", SEE_BASE),
	NEVER("checkout", 0, DESTROYS, "It would overwrite files or move HEAD", SEE_BASE),
	NEVER("restore", 0, DESTROYS, "It would overwrite files", SEE_BASE),
	NEVER("switch", 0, WRITES, "It would move HEAD and change files", "`git show <branch>:<file>` prints a file"),
	{ "stash", "", EWS_GUARD_EXACT | EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, DESTROYS,
	  "It would take your changes away from the files",
	  "nothing has to be stashed: the session keeps each state" },
	{ "stash list", LOG, REVS | SHOWS | EWS_GUARD_DASHES_DROPPED | EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT,
	  NULL },
	{ "stash show", "include-untracked only-untracked " LOG, REVS | SHOWS, ANY, WRITES, NO_OUTPUT, NULL },
	NEVER("stash drop", 0, DESTROYS, "It would delete what was stashed", "`git stash show -p` shows it"),
	NEVER("stash clear", 0, DESTROYS, "It would delete all that was stashed", "`git stash list` lists it"),
	NEVER("merge", 0, WRITES, "A merge would change files, the index and the branch",
	      "`git diff HEAD...<branch>` shows what it would bring"),
	NEVER("rebase", 0, DESTROYS, "It would rewrite history", SEE_DIFF),
	NEVER("cherry-pick", 0, WRITES, "It would make commits",
	      "`git show <commit> | patch -p1` changes the files alone"),
	NEVER("revert", 0, WRITES, "It would make commits",
	      "`git show <commit> | patch -R -p1` changes the files alone"),
	NEVER("am", 0, WRITES, "It would make commits", "`patch -p1` changes the files alone"),
	NEVER("rerere", 0, WRITES, "It would record or change resolutions", "`git diff` shows what conflicts"),
	{ "sparse-checkout", "", EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, DESTROYS, "It would remove or bring files",
	  "`git sparse-checkout list` reads" },
	{ "sparse-checkout list", "", 0, 0, WRITES, NO_OUTPUT, NULL },
	{ "worktree", "", EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES, "It would make, move or remove a worktree",
	  "`git worktree list` lists them" },
	{ "worktree list", "porcelain v|verbose expire= z", 0, 0, WRITES, NO_OUTPUT, NULL },
	{ "worktree prune", "@n|dry-run v|verbose expire=", 0, 0, DESTROYS, "It would remove worktrees' records",
	  "with -n it lists them" },
	NEVER("worktree remove", 0, DESTROYS, "It would remove a worktree", "`git worktree list` lists them"),
	{ "bisect", "", EWS_GUARD_EXACT | EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, DESTROYS,
	  "Bisecting moves HEAD and overwrites files",
	  "`git log` and `git show <commit>:<file>` look at each commit" },
	{ "bisect log", "", EWS_GUARD_EXACT, 0, WRITES, NO_OUTPUT, NULL },
	{ "bisect terms", "term-good term-bad term-old term-new", EWS_GUARD_EXACT, 0, WRITES, NO_OUTPUT, NULL },
	{ "submodule", "q|quiet cached", EWS_GUARD_EXACT | EWS_GUARD_VERBS | EWS_GUARD_INDEX, 0, WRITES,
	  "It would change submodules, or start programs in them", "`git submodule status` lists them" },
	{ "submodule status", "q|quiet cached recursive", EWS_GUARD_EXACT | EWS_GUARD_INDEX, ANY, WRITES, NO_OUTPUT,
	  NULL },
	{ "submodule summary", "cached files for-status n|summary-limit=", EWS_GUARD_EXACT | EWS_GUARD_INDEX, ANY,
	  WRITES, NO_OUTPUT, NULL },
	NEVER("submodule add", EWS_GUARD_OUTSIDE, WRITES, "It would fetch from a remote and change the index", NULL),
	NEVER("submodule update", EWS_GUARD_OUTSIDE, DESTROYS, "It would fetch from a remote and overwrite files",
	      "`git submodule status` lists them"),
	NEVER("submodule foreach", 0, EWS_GUARD_UNKNOWN, "It starts a command in each submodule",
	      "`git -C <submodule> status` looks at one"),

	/* Settings and remotes */
	{ "config",
	  ":1* ^global ^system local worktree ^f|file= blob= +get:12 +get-all:12 +get-regexp:12 +get-urlmatch:22 !replace-all !add "
	  "!unset !unset-all !rename-section !remove-section +l|list:00 fixed-value !e|edit +get-color:12 +get-colorbool:12 "
	  "t|type= bool int bool-or-int bool-or-str path expiry-date z|null name-only includes show-origin "
	  "show-scope default=",
	  EWS_GUARD_STOP | EWS_GUARD_VERBS | EWS_GUARD_STORED | EWS_GUARD_SETTINGS, 1, WRITES,
	  "It would change settings", "`git config --get <key>` and `--list` read them" },
	{ "config get",
	  ":11 global system local worktree f|file= blob= all regexp value= fixed-value url= t|type= bool int bool-or-int "
	  "bool-or-str path expiry-date z|null name-only includes show-origin show-scope show-names default=",
	  EWS_GUARD_STORED | EWS_GUARD_SETTINGS, 1, WRITES, "It would change settings", NULL },
	{ "config list", "global system local worktree f|file= blob= z|null name-only includes show-origin show-scope",
	  EWS_GUARD_STORED | EWS_GUARD_SETTINGS, 0, WRITES, "It would change settings", NULL },
	/* a git before 2.46 takes the word for a key */
	{ "config edit", "^global ^system local worktree ^f|file=", 0, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would start an editor and change settings", "`git config --list` reads them" },
	{ "config set",
	  "^global ^system local worktree ^f|file= all value= fixed-value append comment= t|type= bool int bool-or-int "
	  "bool-or-str path expiry-date",
	  0, EWS_GUARD_NEEDS_VERB, WRITES, "It would change settings", "`git config --get <key>` reads one" },
	{ "config unset", "^global ^system local worktree ^f|file= all value= fixed-value", 0, EWS_GUARD_NEEDS_VERB,
	  WRITES, "It would change settings", "`git config --get <key>` reads one" },
	{ "config rename-section", "^global ^system local worktree ^f|file=", 0, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would change settings", "`git config --list` reads them" },
	{ "config remove-section", "^global ^system local worktree ^f|file=", 0, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would change settings", "`git config --list` reads them" },
	{ "remote", "v|verbose", EWS_GUARD_VERBS | EWS_GUARD_OUTSIDE | EWS_GUARD_STORED, 0, WRITES,
	  "It would change which remotes there are, or ask one", "`git remote -v` lists them" },
	{ "remote show", "+n", EWS_GUARD_OUTSIDE, 0, EWS_GUARD_UNKNOWN, "It asks the remote",
	  "`git remote show -n <name>` tells what is known" },
	{ "remote get-url", ":11 push all", EWS_GUARD_STORED, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ls-remote",
	  "q|quiet !upload-pack= !exec= t|tags h|heads b|branches refs @get-url sort= exit-code symref "
	  "!o|server-option=",
	  EWS_GUARD_OUTSIDE, ANY, EWS_GUARD_UNKNOWN, "It asks a remote, by a program that settings may name",
	  KNOWN_REMOTES },
	{ "bundle", "", EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES, "It would write a file or objects",
	  "`git bundle verify` and `list-heads` read one" },
	{ "bundle verify", ":11 q|quiet", EWS_GUARD_STOP, ANY, WRITES, NO_OUTPUT, NULL },
	{ "bundle list-heads", ":1*", EWS_GUARD_STOP, ANY, WRITES, NO_OUTPUT, NULL },
	NEVER("push", EWS_GUARD_OUTSIDE | EWS_GUARD_HERE | EWS_GUARD_PUSH, WRITES,
	      "A push would publish work to a remote", STAYS_HERE),
	NEVER("fetch", EWS_GUARD_OUTSIDE | EWS_GUARD_HERE, WRITES,
	      "A fetch would bring objects and move remote branches", KNOWN_REMOTES),
	NEVER("pull", EWS_GUARD_OUTSIDE | EWS_GUARD_HERE, WRITES, "A pull would fetch from a remote and merge",
	      KNOWN_REMOTES),
	NEVER("clone", EWS_GUARD_OUTSIDE, WRITES, "It would fetch from a remote and make a repository", NULL),
	NEVER("fetch-pack", EWS_GUARD_OUTSIDE, WRITES, "It would bring objects from a remote", KNOWN_REMOTES),
	NEVER("send-pack", EWS_GUARD_OUTSIDE, WRITES, "It would publish work to a remote", STAYS_HERE),
	NEVER("http-fetch", EWS_GUARD_OUTSIDE, WRITES, "It would bring objects from a remote", KNOWN_REMOTES),
	NEVER("http-push", EWS_GUARD_OUTSIDE, WRITES, "It would publish work to a remote", STAYS_HERE),
	NEVER("send-email", EWS_GUARD_OUTSIDE, WRITES, "It would send mail", STAYS_HERE),
	NEVER("imap-send", EWS_GUARD_OUTSIDE, WRITES, "It would send mail", STAYS_HERE),
	NEVER("svn", EWS_GUARD_OUTSIDE, WRITES, "It would exchange work with a remote", STAYS_HERE),
	NEVER("p4", EWS_GUARD_OUTSIDE, WRITES, "It would exchange work with a remote", STAYS_HERE),
	NEVER("lfs", EWS_GUARD_OUTSIDE, WRITES, "It would exchange files with a remote, or change files", NULL),
	NEVER("daemon", EWS_GUARD_OUTSIDE, EWS_GUARD_UNKNOWN, "It would serve the repository", NULL),
	NEVER("instaweb", EWS_GUARD_OUTSIDE, EWS_GUARD_UNKNOWN, "It would serve the repository", NULL),
	NEVER("receive-pack", EWS_GUARD_OUTSIDE, WRITES, "It would take objects from elsewhere", NULL),
	NEVER("upload-pack", EWS_GUARD_OUTSIDE, EWS_GUARD_UNKNOWN, "It would serve the repository", NULL),
	NEVER("upload-archive", EWS_GUARD_OUTSIDE, EWS_GUARD_UNKNOWN, "It would serve the repository", NULL),
	NEVER("credential", EWS_GUARD_OUTSIDE, EWS_GUARD_UNKNOWN, "It starts programs that know passwords", NULL),

	/* Texts from stdin */
	{ "patch-id", "unstable stable verbatim", 0, 0, WRITES, NO_OUTPUT, NULL },
	{ "interpret-trailers",
	  "!in-place trim-empty where= if-exists= if-missing= only-trailers @only-input unfold @parse no-divider "
	  "trailer=",
	  0, ANY, WRITES, "It would edit a file, or start programs that settings name",
	  "`git interpret-trailers --parse` prints the trailers of a message" },
	NEVER("mailinfo", 0, WRITES, "It would write files", NULL),
	NEVER("mailsplit", 0, WRITES, "It would write files", NULL),

	/* The store */
	NEVER("gc", 0, DESTROYS, "It would delete objects that nothing names",
	      "`git count-objects -vH` tells the size"),
	{ "prune", "@n|dry-run v|verbose progress expire= exclude-promisor-objects", 0, ANY, DESTROYS,
	  "It would delete objects that nothing names", "with -n it lists them" },
	{ "prune-packed", "@n|dry-run q|quiet", 0, 0, DESTROYS, "It would delete objects", "with -n it lists them" },
	NEVER("repack", 0, WRITES, "It would rewrite how objects are stored", NULL),
	NEVER("update-server-info", 0, WRITES, "It would write files into the repository", NULL),
	{ "maintenance", "", EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would rewrite how objects are stored", NULL },
	/* what is run by a schedule may be a prefetch */
	{ "maintenance run", "auto q|quiet #schedule? #task=f", 0, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would rewrite how objects are stored, or ask remotes", NULL },
	NEVER("maintenance register", EWS_GUARD_OUTSIDE, WRITES, "It would change settings of the user", NULL),
	NEVER("maintenance unregister", EWS_GUARD_OUTSIDE, WRITES, "It would change settings of the user", NULL),
	NEVER("maintenance start", EWS_GUARD_OUTSIDE, WRITES, "It would have git run by the clock", NULL),
	NEVER("maintenance stop", EWS_GUARD_OUTSIDE, WRITES, "It would change what runs by the clock", NULL),
	{ "commit-graph", "object-dir=", EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would write the commit graph", NULL },
	{ "commit-graph verify", "object-dir= shallow progress", 0, 0, WRITES, NO_OUTPUT, NULL },
	{ "multi-pack-index", "object-dir=", EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would write an index of packs", NULL },
	{ "multi-pack-index verify", "object-dir= progress", 0, 0, WRITES, NO_OUTPUT, NULL },
	NEVER("filter-branch", 0, DESTROYS, "It would rewrite history", SEE_DIFF),
	NEVER("update-index", 0, WRITES, "It would change the index", PLAIN_FILES),
	NEVER("read-tree", 0, DESTROYS, "It would overwrite the index", SEE_BASE),
	NEVER("checkout-index", 0, DESTROYS, "It would overwrite files", SEE_BASE),
	NEVER("write-tree", 0, WRITES, "It would write objects into the repository", SEE_DIFF),
	NEVER("commit-tree", 0, WRITES, "It would write objects into the repository", SEE_DIFF),
	NEVER("mktree", 0, WRITES, "It would write objects into the repository", SEE_DIFF),
	NEVER("mktag", 0, WRITES, "It would write objects into the repository", SEE_DIFF),
	NEVER("fast-import", 0, DESTROYS, "It would write objects and move branches", SEE_DIFF),
	NEVER("index-pack", 0, WRITES, "It would write into the repository", "`git verify-pack` checks a pack"),
	NEVER("pack-objects", 0, WRITES, "It would write a pack", NULL),
	NEVER("unpack-objects", 0, WRITES, "It would write objects into the repository", NULL),
	NEVER("merge-index", 0, EWS_GUARD_UNKNOWN, "It starts a program for each file", NULL),
	NEVER("init", 0, WRITES, "It would make or change a repository", NULL),
	NEVER("init-db", 0, WRITES, "It would make or change a repository", NULL),
	{ "subtree",
	  "P|prefix= q|quiet d|debug m|message= squash b|branch= onto= rejoin ignore-joins annotate= S|gpg-sign?",
	  EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES, "It would make commits", SEE_DIFF },
	NEVER("subtree add", EWS_GUARD_OUTSIDE, WRITES, "It would fetch from a remote and make commits", SEE_DIFF),
	NEVER("subtree pull", EWS_GUARD_OUTSIDE, WRITES, "It would fetch from a remote and merge", KNOWN_REMOTES),
	NEVER("subtree push", EWS_GUARD_OUTSIDE, WRITES, "It would publish work to a remote", STAYS_HERE),
	NEVER("quiltimport", 0, WRITES, "It would make commits", SEE_DIFF),
	NEVER("hook", 0, EWS_GUARD_UNKNOWN, "It starts a hook", NULL),
	NEVER("for-each-repo", EWS_GUARD_OUTSIDE, EWS_GUARD_UNKNOWN, "It runs git in other repositories",
	      "`git -C <directory>` looks at one"),
	NEVER("bugreport", 0, WRITES, "It would write a file", "`git version --build-options` prints the same"),
	NEVER("diagnose", 0, WRITES, "It would write a file", NULL),
	NEVER("gui", 0, EWS_GUARD_UNKNOWN, "It opens a window, in which everything can be done", NULL),
	NEVER("citool", 0, WRITES, "It opens a window, in which commits are made", SEE_DIFF),

	/* git itself */
	{ "var", ":11 l:00", EWS_GUARD_EXACT | EWS_GUARD_STOP | EWS_GUARD_STORED | EWS_GUARD_SETTINGS, ANY, WRITES,
	  NO_OUTPUT, NULL },
	{ "version", "build-options", 0, ANY, WRITES, NO_OUTPUT, NULL },
	{ "help",
	  "a|all external-commands aliases !m|man !w|web !i|info v|verbose g|guides user-interfaces "
	  "developer-interfaces c|config exclude-guides config-for-completion config-sections-for-completion",
	  0, 0, EWS_GUARD_UNKNOWN, "Manual pages are shown by programs that settings may name",
	  "`git <command> -h` prints the options; `git help -a` lists the commands" },

	/* ours: what would write fails inside of a workspace anyhow */
	{ "ews", "C= home= version h", EWS_GUARD_EXACT | EWS_GUARD_VERBS, 0, WRITES,
	  "It would change sessions or the project",
	  "`git ews status`, `diff`, `snapshot list` and `snapshot show` read" },
	{ "ews help", "", EWS_GUARD_EXACT, 0, EWS_GUARD_UNKNOWN,
	  "Manual pages are shown by programs that settings may name", "`git ews <verb> -h` prints the options" },
	{ "ews status", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews list", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews path", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews diff", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews version", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews round", "", EWS_GUARD_EXACT | EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would start or end rounds",
	  "`git ews round peers`, `prompt`, `scratch`, `list`, `show` and `diff` read" },
	{ "ews round peers", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews round prompt", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews round scratch", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews round list", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews round show", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews round diff", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews snapshot", "", EWS_GUARD_EXACT | EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would change snapshots or files", "`git ews snapshot list`, `show`, `diff` and `verify` read" },
	{ "ews snapshot list", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews snapshot show", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews snapshot diff", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews snapshot verify", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews artifact", "", EWS_GUARD_EXACT | EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would change artifacts", "`git ews artifact list` and `show` read" },
	{ "ews artifact list", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews artifact show", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews archive", "", EWS_GUARD_EXACT | EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would make or remove archives, or write files",
	  "`git ews archive list`, `show`, `cat`, `verify` and `diff` read" },
	{ "ews archive list", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews archive show", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews archive cat", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews archive verify", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews archive diff", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews pending", "", EWS_GUARD_EXACT | EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would decide about a result", "`git ews pending list` and `show` read" },
	{ "ews pending list", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews pending show", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews suggestions", "", EWS_GUARD_EXACT | EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would change the project", "`git ews suggestions list` and `show` read" },
	{ "ews suggestions list", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews suggestions show", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews lock", "", EWS_GUARD_EXACT | EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would lock the repository, or let go of it", "`git ews lock status` reads" },
	{ "ews lock status", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews epoch", "json q|quiet v|verbose", EWS_GUARD_EXACT | EWS_GUARD_VERBS, 0, WRITES,
	  "It would put the epoch up", "`git ews epoch` and `epoch check` read" },
	{ "ews epoch check", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews config", "show-origin json z|null q|quiet v|verbose", EWS_GUARD_EXACT | EWS_GUARD_VERBS, 0, WRITES,
	  "It would change settings", "`git ews config list` and `get` read" },
	{ "ews config list", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews config get", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews guard", "", EWS_GUARD_EXACT | EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would change the guard", "`git ews guard check`, `list` and `status` read" },
	{ "ews guard check", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews guard list", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews guard status", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews report", "@output=- format= json q|quiet v|verbose", EWS_GUARD_EXACT | EWS_GUARD_VERBS, 1, WRITES,
	  "It would store a report",
	  "`git ews report --output -` prints it; `git ews report finding add` adds to it" },
	{ "ews report finding", "", EWS_GUARD_EXACT | EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES, NO_OUTPUT, NULL },
	{ "ews report finding add", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews report finding list", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews trust", "", EWS_GUARD_EXACT | EWS_GUARD_VERBS, EWS_GUARD_NEEDS_VERB, WRITES,
	  "It would change what is trusted", NULL },
	{ "ews trust status", "", EWS_GUARD_LOOSE, ANY, WRITES, NO_OUTPUT, NULL },
	{ "ews doctor", "!fix json q|quiet v|verbose progress color?", EWS_GUARD_EXACT, 0, WRITES,
	  "It would change sessions or the project", "without --fix it only looks" },
	{ "ews undo", "@list json q|quiet v|verbose", EWS_GUARD_EXACT, ANY, DESTROYS,
	  "It would change files of a workspace", "with --list it lists the steps" },
	{ "ews clean", "@n|dry-run json q|quiet v|verbose all force now older-than=", EWS_GUARD_EXACT, ANY,
	  DESTROYS, "It would take sessions away", "`git ews list` shows them" },
	{ "ews revert", "@n|dry-run json q|quiet v|verbose to= verify= changes=", EWS_GUARD_EXACT, ANY, DESTROYS,
	  "It would change files of a workspace", "`git ews diff` shows what it would take back" },
	{ NULL, NULL, 0, 0, EWS_GUARD_UNKNOWN, NULL, NULL },
};

const struct ews_guard_row *ews_guard_row_find(const char *name, const char *verb)
{
	size_t len = strlen(name);

	for (const struct ews_guard_row *row = ews_guard_rows; row->name; row++) {
		if (strncmp(row->name, name, len) != 0)
			continue;
		if (!verb && !row->name[len])
			return row;
		if (verb && row->name[len] == ' ' && !strcmp(row->name + len + 1, verb))
			return row;
	}
	return NULL;
}
