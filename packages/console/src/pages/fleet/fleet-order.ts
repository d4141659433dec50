/** Rows keep their positions while devices change. New devices wait until the user shows them. */
import type { Device } from "@tendon/protocol";
import { useCallback, useMemo, useRef, useState } from "react";
import { type Order, ordered } from "./device-order.ts";

interface Frozen {
  readonly question: string;
  readonly ids: readonly string[];
  readonly known: ReadonlySet<string>;
}

/** `question`: filter and order; when it changes, the rows are sorted again. While pages load, rows appear as they arrive. */
export function useStableOrder(devices: readonly Device[], order: Order, question: string, growing: boolean) {
  const frozen = useRef<Frozen | undefined>(undefined);
  const [, redraw] = useState(0);
  const byId = useMemo(() => new Map(devices.map((device) => [device.id, device])), [devices]);
  const old = frozen.current;
  if (
    devices.length > 0 &&
    (old === undefined || old.question !== question || growing || old.ids.every((id) => !byId.has(id)))
  ) {
    const ids = ordered(devices, order);
    frozen.current = { question, ids, known: new Set(ids) };
  }
  const { ids = [], known = new Set<string>() } = frozen.current ?? {};
  const rows = ids.flatMap((id) => byId.get(id) ?? []);
  const waiting = devices.filter(({ id }) => !known.has(id)).length;
  const showAll = useCallback(() => {
    frozen.current = undefined;
    redraw((count) => count + 1);
  }, []);
  return { rows, waiting, showAll };
}
