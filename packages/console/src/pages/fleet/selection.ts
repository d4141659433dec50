/** The selected devices of the fleet page. A device that leaves the list is no longer selected. */
import type { Device } from "@tendon/protocol";
import { useCallback, useMemo, useRef, useState } from "react";

export interface Selection {
  readonly devices: readonly Device[];
  has(id: string): boolean;
  /** `range`: selects all rows from the one that was toggled last. */
  toggle(id: string, range?: boolean): void;
  set(ids: readonly string[]): void;
}

export function useSelection(rows: readonly Device[]): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string>(undefined);
  const set = useCallback((wanted: readonly string[]) => {
    last.current = undefined;
    setIds(new Set(wanted));
  }, []);
  const toggle = useCallback(
    (id: string, range = false) => {
      const [from, to] = [last.current, id].map((each) => rows.findIndex((row) => row.id === each));
      last.current = id;
      setIds((before) => {
        const after = new Set(before);
        if (range && from !== undefined && to !== undefined && from !== -1 && to !== -1) {
          for (const row of rows.slice(Math.min(from, to), Math.max(from, to) + 1)) after.add(row.id);
        } else if (!after.delete(id)) after.add(id);
        return after;
      });
    },
    [rows],
  );
  return useMemo(() => {
    const devices = ids.size === 0 ? [] : rows.filter(({ id }) => ids.has(id));
    return { devices, has: (id: string) => ids.has(id), toggle, set };
  }, [ids, rows, toggle, set]);
}
