# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Dies and is caught, sorts, matches, forks.
use strict;
use warnings;

sub deep {
    my $depth = shift;
    no warnings 'recursion';
    return $depth ? deep($depth - 1) + 1 : die "deep\n";
}

my ($caught, $sum) = (0, 0);
for my $depth (0 .. 40) {
    eval { deep($depth) };
    $caught++ if $@ eq "deep\n";
    my $times  = 0;
    my @sorted = eval {
        sort { die "sort\n" if ++$times == 90 + $depth; $a <=> $b } map { $_ * 7919 % 97 } 0 .. 19 + $depth;
    };
    $sum += $_ for @sorted;
}
my %count;
$count{lc $1}++ while "The quick brown fox jumps over the lazy dog and the cat" =~ /\b(\w+)\b/g;
my $child = fork // die;
exit 3 unless $child;
waitpid $child, 0;
printf "caught %d, sum %d, status %d, %s\n", $caught, $sum, $? >> 8,
    join ' ', map { "$_=$count{$_}" } sort keys %count;
exit 4;
