-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
-- Queries whose answers are always the same: errors in functions, sorts, joins, texts, JSON.
\set ON_ERROR_STOP off
\set VERBOSITY terse
create table numbers as select k, k * 7919 % 997 as v, md5(k::text) as t from generate_series(1, 5000) k;
create index on numbers (v);
analyze numbers;
select count(*), sum(v), min(t), max(t) from numbers;
select v, count(*) from numbers group by v order by count(*) desc, v limit 5;
select a.k, b.k from numbers a join numbers b on a.v = b.k where a.k < 20 order by 1, 2;
with recursive tree(n, depth) as (values (1, 0) union all select n * 2, depth + 1 from tree where depth < 20)
  select sum(n), max(depth) from tree;
select v / (v - 5) from numbers order by k limit 1000;
select 1 / 0;
create function careful(x int) returns text language plpgsql as $$
begin
  if x % 3 = 0 then raise exception 'three %', x; end if;
  return (10 / (x - 4))::text;
exception
  when division_by_zero then return 'zero';
  when raise_exception then return sqlerrm;
end $$;
select string_agg(careful(x), ', ' order by x) from generate_series(1, 30) x;
select no_such_function(1);
select jsonb_agg(jsonb_build_object('k', k, 't', left(t, 4)) order by k) from numbers where k < 10;
select regexp_replace(string_agg(t, '' order by k), '[a-f]+', '-', 'g') from numbers where k < 5;
begin;
update numbers set v = v + 1 where k % 2 = 0;
savepoint one;
delete from numbers where k % 3 = 0;
rollback to one;
select count(*), sum(v) from numbers;
rollback;
select rank, k from (select rank() over (partition by v % 7 order by t) as rank, k from numbers) r
  where rank = 1 order by k;
set work_mem = '64kB';
select sum(hashtext(t)::bigint) from (select t from numbers order by t desc) s;
