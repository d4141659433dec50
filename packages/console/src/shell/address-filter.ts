import { useCallback } from "react";
import { useSearchParams } from "wouter";

/** Filters of a page that are part of its address, so that a link or a reload keeps them. Empty ones are left out. */
export function useAddressFilter<Name extends string>(
  names: readonly Name[],
): readonly [Readonly<Record<Name, string>>, (change: Partial<Record<Name, string>>) => void] {
  const [search, setSearch] = useSearchParams();
  const values = Object.fromEntries(names.map((name) => [name, search.get(name) ?? ""])) as Record<
    Name,
    string
  >;
  const change = useCallback(
    (part: Partial<Record<Name, string>>) =>
      setSearch(
        (before) => {
          const next = new URLSearchParams(before);
          for (const [name, value] of Object.entries<string | undefined>(part))
            if (value === undefined || value === "") next.delete(name);
            else next.set(name, value);
          return next;
        },
        { replace: true },
      ),
    [setSearch],
  );
  return [values, change];
}
