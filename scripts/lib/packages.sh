# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Debian packages: install those that are missing on the host, and fetch
# packages of other suites into the cache without a change to the host's apt
# set-up.

# missing_packages NAME...: print those that are not installed.
missing_packages() {
	local name

	for name; do
		dpkg-query -W -f '${db:Status-Status}\n' "$name" 2>/dev/null |
			grep -qx installed || printf '%s ' "$name"
	done
}

# install_packages NAME...
install_packages() {
	local log=$RDS_CACHE/log/packages.log missing

	missing=$(missing_packages "$@")
	if [ -z "$missing" ]; then
		say "packages: all installed"
		return
	fi
	say "packages: installing $missing(about 3 minutes)"
	# shellcheck disable=SC2086 # a list of names
	{ apt-get -q update &&
	  DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		--no-install-recommends -o DPkg::Lock::Timeout=600 \
		install $missing; } >"$log" 2>&1 ||
		die "installing packages failed; see $log"
}

# mirror_of SUITE: print the host's own source for it. Backports use the mirror
# of the release itself.
mirror_of() {
	# shellcheck disable=SC2016 # for apt, not for the shell
	apt-get indextargets --format '$(RELEASE) $(REPO_URI)' \
		'Created-By: Packages' |
		awk -v suite="$1" '$1 == suite { print $2; exit }'
}

# suite_sources SUITE: print the lines of a sources.list.
suite_sources() {
	local host suite suites uri

	# shellcheck source=/dev/null
	host=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
	case $1 in
	"$host") suites="$host $host-security" ;;
	*) suites=$1 ;;
	esac
	for suite in $suites; do
		uri=$(mirror_of "$suite")
		[ -n "$uri" ] || uri=$(mirror_of "$host")
		[ -n "$uri" ] || continue
		printf 'deb [signed-by=%s] %s %s main\n' \
			/usr/share/keyrings/debian-archive-keyring.gpg \
			"$uri" "$suite"
	done
}

# suite_apt SUITE TOOL ARGS...: run apt-get or apt-cache with SUITE alone, and
# with its state in the cache.
suite_apt() {
	local dir=$RDS_CACHE/apt/$1 tool=$2

	shift 2
	"$tool" -q \
		-o Dir::Etc::sourcelist="$dir/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null \
		-o Dir::State="$dir/state" \
		-o Dir::State::status="$dir/status" \
		-o Dir::Cache="$dir/cache" \
		-o APT::Sandbox::User=root \
		-o Acquire::Languages=none \
		-o Acquire::Retries=3 \
		"$@"
}

# suite_update SUITE: fetch its package list.
suite_update() {
	local dir=$RDS_CACHE/apt/$1

	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
	: >"$dir/status"
	suite_sources "$1" >"$dir/sources.list"
	[ -s "$dir/sources.list" ] || return 1
	suite_apt "$1" apt-get update --error-on=any \
		>"$RDS_CACHE/log/apt-$1.log" 2>&1
}

# suite_field SUITE PACKAGE FIELD
suite_field() {
	suite_apt "$1" apt-cache show --no-all-versions "$2" 2>/dev/null |
		sed -n "s/^$3: //p" | head -n 1
}

# kernel_closure SUITE PACKAGE...: print these and every kernel package they
# depend on, without meta packages and without what only a booting host needs.
kernel_closure() {
	local suite=$1 todo seen=" " name dep

	shift
	todo="$*"
	while [ -n "$todo" ]; do
		name=${todo%% *}
		todo=${todo#"$name"}
		todo=${todo# }
		case $seen in *" $name "*) continue ;; esac
		seen="$seen$name "
		for dep in $(suite_field "$suite" "$name" Depends |
			     sed 's/([^)]*)//g; s/|[^,]*//g; s/,/ /g'); do
			case $dep in
			linux-base* | linux-libc-dev*) ;;
			linux-*) todo="$todo${todo:+ }$dep" ;;
			esac
		done
	done
	printf '%s\n' "$seen" | tr ' ' '\n' | sed '/^$/d'
}

# suite_unpack SUITE DIR PACKAGE...: download the packages, unpack them to
# DIR/root, and note name, version and checksum of each in DIR/manifest.part.
suite_unpack() {
	local suite=$1 dir=$2 deb

	shift 2
	mkdir -p "$dir/debs" "$dir/root"
	(cd "$dir/debs" && suite_apt "$suite" apt-get download "$@") \
		>"$RDS_CACHE/log/download-$suite.log" 2>&1 || return 1
	# shellcheck disable=SC2016 # for dpkg, not for the shell
	for deb in "$dir"/debs/*.deb; do
		dpkg-deb -x "$deb" "$dir/root" || return 1
		printf 'package=%s %s\n' \
			"$(dpkg-deb -W --showformat '${Package} ${Version}' \
				"$deb")" \
			"$(sha256sum <"$deb" | cut -d ' ' -f 1)" \
			>>"$dir/manifest.part"
	done
	rm -rf "$dir/debs" "$dir/root/usr/share/doc" "$dir/root/usr/share/bug"
}

# fetch_servers SUITE PACKAGE...: fetch the programs of these packages, and do
# not install them.
fetch_servers() {
	local suite=$1 dir=$RDS_CACHE/programs

	shift
	if grep -qsxF "# $*" "$dir/manifest"; then
		say "servers: $*, cached"
		return
	fi
	say "servers: fetching $* (a few seconds)"
	rm -rf "$dir" "$dir.new"
	suite_update "$suite" || return 1
	suite_unpack "$suite" "$dir.new" "$@" || return 1
	echo "# $*" >>"$dir.new/manifest.part"
	mv "$dir.new/manifest.part" "$dir.new/manifest"
	mv "$dir.new" "$dir"
}
