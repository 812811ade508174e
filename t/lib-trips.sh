# Sourced by tests that plant programs wherever git takes one from: each says in the file "ran" that it ran.
#
# SPDX-License-Identifier: MIT
# shellcheck shell=sh

here=$PWD
trips=${here:?}/trips
ran=${here:?}/ran

# Those of githooks(5). The last six are run by git-p4, by git-send-email, or under any name but this one.
hooks='applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg post-commit
	pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update
	reference-transaction push-to-checkout pre-auto-gc post-rewrite post-index-change
	fsmonitor-watchman sendemail-validate p4-changelist p4-prepare-changelist p4-post-changelist p4-pre-submit'

# What the config names, and how git takes it (q: a shell reads it, b: one does after "!", r: as a path). The program has the name of the key.
keys='q core.fsmonitor
q core.pager
q pager.branch
q pager.ews
q pager.status
q pager.diff
q pager.config
q diff.external
q diff.trip.command
q diff.conv.textconv
q filter.trip.clean
q filter.trip.smudge
q filter.proc.process
q filter.info.clean
q filter.file.smudge
q merge.trip.driver
q mergetool.trip.cmd
q difftool.trip.cmd
q core.editor
q sequence.editor
b credential.helper
r core.askPass
q core.sshCommand
r core.gitProxy
q remote.up.uploadpack
q remote.up.receivepack
r gpg.program
r gpg.x509.program
r gpg.ssh.program
q gpg.ssh.defaultKeyCommand
b alias.trip
b alias.ews
q trailer.a.command
q trailer.b.cmd
q core.alternateRefsCommand
q interactive.diffFilter
q tar.trip.command
q man.trip.cmd
q browser.trip.cmd
b submodule.sub.update
q uploadpack.packObjectsHook'

# And what else these need.
settings='log.showSignature true
commit.gpgSign true
gpg.ssh.allowedSignersFile /dev/null
merge.tool trip
mergetool.prompt false
difftool.prompt false
man.viewer trip
trailer.a.key a
trailer.b.key b
protocol.ext.allow always
protocol.allow always
receive.denyCurrentBranch updateInstead
receive.procReceiveRefs refs/for
remote.up.url .
remote.vcs.vcs trip
remote.vcs.url x
remote.ext.fetch +refs/heads/*:refs/remotes/ext/*
safe.directory *
safe.bareRepository all
core.fsmonitorHookVersion 2'

# make_trip <path>: a program there that says that it ran: the last two parts of its path.
make_trip() {
	test -f trip || {
		cat >trip <<-\END && sed -i "s|RAN|$ran|" trip && chmod +x trip || return 1
			#!/bin/sh
			dir=${0%/*}
			echo "${dir##*/}/${0##*/}" >>"RAN"
			case ${0##*/} in
			*.fsmonitor | *.process | merge.trip.driver | gpg.*) exit 1 ;;
			*pager* | *.clean | *.smudge | *.textconv | *Filter) cat ;;
			esac
			exit 0
		END
	}
	cp trip "$1"
}

# make_hooks <directory>
make_hooks() {
	test -d hooks || {
		mkdir hooks && for name in $hooks; do
			make_trip "hooks/$name" || return 1
		done
	} && mkdir -p "$1" && cp hooks/* "${1:?}/"
}

# The text of a config that names them all, half of it in a file of its own that include.path names.
make_config() {
	echo "$keys" | while read -r how key; do
		make_trip "${trips:?}/$key" && case $how in
		q) echo "$key \"${trips:?}/$key\"" ;;
		b) echo "$key !\"${trips:?}/$key\"" ;;
		r) echo "$key ${trips:?}/$key" ;;
		esac || exit 1
	done >named || return 1
	echo "$settings" >>named
	ext=ext::$(echo "${trips:?}/remote.ext" | sed "s/ /% /g")
	make_trip "${trips:?}/remote.ext" && make_trip "${trips:?}/git-remote-trip" &&
		make_hooks template/hooks && echo "*.file filter=file" >attributes.file &&
		printf "%s\n" "remote.ext.url $ext" "init.templateDir ${here:?}/template" "core.attributesFile ${here:?}/attributes.file" >>named &&
		n=0 && while read -r key value; do
			n=$((n + 1)) && git config -f "plants.$((n % 2))" "$key" "$value" || return 1
		done <named &&
		git config -f plants.0 include.path "${here:?}/plants.1"
}

# plant <git directory>: all that is named in one.
plant() {
	cat plants.0 >>"${1:?}/config" && make_hooks "${1:?}/hooks" && mkdir -p "${1:?}/info" && echo "*.info filter=info" >"${1:?}/info/attributes"
}

# plant_inner <git directory> <name>: one of a nested repository or a submodule, whose programs have names of their own.
plant_inner() {
	for key in core.fsmonitor diff.external filter.trip.clean filter.trip.smudge core.sshCommand; do
		make_trip "${trips:?}/$2.${key##*.}" && git config -f "${1:?}/config" $key "\"${trips:?}/$2.${key##*.}\"" || return 1
	done
	make_hooks "${1:?}/hooks" && mkdir -p "${1:?}/info" && echo "* filter=trip" >"${1:?}/info/attributes" &&
		git config -f "${1:?}/config" protocol.ext.allow always && git config -f "${1:?}/config" remote.origin.url "$ext"
}

# signed <kind of signature>: HEAD once more, with a signature that asks for a program; prints its id.
signed() {
	git cat-file commit HEAD | sed "/^committer/a\\
gpgsig -----BEGIN $1-----\\
 \\
 x\\
 -----END $1-----" | git hash-object -t commit -w --stdin
}

# make_world <dir>: a repository with something for each of them to be run on.
make_world() {
	test_repo "lib.$1" 2 && git init -q "$1-inner" && (cd "$1-inner" && echo 1 >f && echo 1 >same && git add f same && git commit -qm 1) && test_repo "$1" && (
		cd "$1" && printf "%s\n" "*.[!f]* filter=trip diff=conv merge=trip" "*.ext diff=trip" "*.proc filter=proc" >.gitattributes &&
			for f in a.ext a.proc a.info a.file a.txt; do echo 1 >$f || exit 1; done &&
			git submodule --quiet add "${here:?}/lib.$1" sub && mv "../$1-inner" nested && git add . 2>../add.err && git commit -qm "something for each" &&
			git checkout -qb other && echo other >a.txt && git commit -qam other && git checkout -qb clean HEAD~1 && echo clean >clean && git add clean && git commit -qm clean &&
			git checkout -q main && echo main >a.txt && git commit -qam main && a=$(signed "PGP SIGNATURE") && b=$(signed "SIGNED MESSAGE") && c=$(signed "SSH SIGNATURE") &&
			git update-ref refs/tags/pgp "$a" && git update-ref refs/tags/x509 "$b" && git update-ref refs/tags/ssh "$c" &&
			git repack -qad && git branch more && echo 2 >a.ext && git commit -qam more && git repack -q && echo "${here:?}/lib.${1:?}/.git/objects" >.git/objects/info/alternates
	)
}

# world <dir>: one with all of them planted, and files that ask for them.
world() {
	make_world "$1" && plant_world "$1" && dirty_world "$1"
}

plant_world() {
	plant "${1:?}/.git" && plant_inner "${1:?}/nested/.git" nested && plant_inner "${1:?}/.git/modules/sub" sub
}

dirty_world() {
	for f in a.ext a.proc a.info a.txt src/main.c nested/f; do echo dirty >>"${1:?}/$f" || return 1; done && echo new >"${1:?}/new"
}

# terminal <command line>: what it prints there is in terminal.out; the user has a pager.
terminal() {
	PAGER="sed -n p" TERM=xterm script -qec "$*" /dev/null </dev/null >terminal.out
}

