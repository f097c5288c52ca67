# What the scripts of traps share. They run in a repository; $TRAP is a program that no call of flame
# may start, and $MARK the file that it writes.
every="applypatch-msg pre-applypatch post-applypatch pre-commit pre-merge-commit prepare-commit-msg commit-msg
	post-commit pre-rebase post-checkout post-merge pre-push pre-receive update proc-receive post-receive post-update
	reference-transaction push-to-checkout pre-auto-gc post-rewrite sendemail-validate fsmonitor-watchman p4-changelist
	p4-prepare-changelist p4-post-changelist p4-pre-submit post-index-change" # the hooks of githooks(5)

hooks() { # FOLDER NAME...
	folder=$1
	shift
	mkdir -p "$folder"
	for name; do
		printf '#!/bin/sh\n%s\n' "$TRAP" >"$folder/$name"
		chmod 700 "$folder/$name"
	done
}

config() { # KEY VALUE...
	while [ $# -gt 1 ]; do
		git config --add "$1" "$2"
		shift 2
	done
}

attributes() { mkdir -p .git/info && printf '* %s\n' "$1" >.git/info/attributes; }

filter() { # NAME KEY
	attributes "filter=$1"
	config "filter.$1.$2" "$TRAP; cat"
}

commit() { git add --all && git commit --quiet --allow-empty --message "$1"; }

# recommit commits all files, and changes some, so that git reads them again.
recommit() {
	commit all
	printf 'one\ntwo\n' >>changed
	printf 'new\n' >>new
	printf 'log\n' >>ignored.log
	touch -t 203801010000 touched
}

# conflict leaves a patch that cannot be applied without a merge.
conflict() {
	git checkout --quiet changed
	echo patch >touched
	git diff --full-index touched >../conflict.patch
	echo other >touched
	commit other
}

# signature makes HEAD a commit with a signature of a kind.
signature() {
	git cat-file commit HEAD | awk -v kind="$1" '
		/^$/ && !signed { printf "gpgsig -----BEGIN %s-----\n x\n -----END %s-----\n", kind, kind; signed = 1 }
		{ print }' >../commit
	git update-ref HEAD "$(git hash-object -t commit -w ../commit)"
}

alternates() {
	git clone --quiet . ../other
	mkdir -p .git/objects/info
	echo "$(dirname "$PWD")/other/.git/objects" >.git/objects/info/alternates
}

# missing makes the repository a partial clone that lacks a file. The settings name the remote that has it.
missing() {
	hash=$(git rev-parse HEAD:folder/file)
	config core.repositoryFormatVersion 1 extensions.partialClone x "$@" remote.x.promisor true protocol.allow always
	rm -f ".git/objects/$(echo "$hash" | cut -c1-2)/$(echo "$hash" | cut -c3-)"
}

# submodule makes the folder mod a submodule with a trap in its own configuration.
submodule() {
	mkdir mod
	(cd mod && git init --quiet . && echo one >file && commit first)
	printf '[submodule "mod"]\npath = mod\nurl = ./mod\nignore = none\n' >.gitmodules
	recommit
	(cd mod && echo two >file && git config "$1" "$TRAP" && attributes filter=x && touch -t 203801010000 file)
}

# remote_setting sets KEY VALUE in the remote beside the repository, which borrows from it.
remote_setting() {
	alternates
	git -C ../remote.git config "$1" "$2"
	mkdir -p ../remote.git/objects/info
	echo "$PWD/.git/objects" >../remote.git/objects/info/alternates
}
