/** Rows keep their positions while devices change. New devices wait until the user shows them, or adds them here. */
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
  /** The devices that the user added. They may be listed a moment later. */
  const shown = useRef(new Set<string>());
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
  const added = devices.filter(({ id }) => shown.current.has(id) && frozen.current?.known.has(id) === false);
  if (frozen.current !== undefined && added.length > 0) {
    const ids = added.reduce(
      (list, { id }) => inserted(list, id, ordered(devices, order)),
      frozen.current.ids,
    );
    frozen.current = { question, ids, known: new Set(ids) };
  }
  const { ids = [], known = new Set<string>() } = frozen.current ?? {};
  const rows = ids.flatMap((id) => byId.get(id) ?? []);
  const waiting = devices.filter(({ id }) => !known.has(id)).length;
  const showAll = useCallback(() => {
    frozen.current = undefined;
    redraw((count) => count + 1);
  }, []);
  const show = useCallback((id: string) => {
    shown.current.add(id);
    redraw((count) => count + 1);
  }, []);
  return { rows, waiting, showAll, show };
}

/** The rows with one more, before the first that follows it in the order. The others keep their positions. */
function inserted(ids: readonly string[], id: string, order: readonly string[]): string[] {
  const rank = new Map(order.map((each, at) => [each, at]));
  const place = rank.get(id) ?? 0;
  const next = ids.findIndex((each) => (rank.get(each) ?? 0) > place);
  return next === -1 ? [...ids, id] : [...ids.slice(0, next), id, ...ids.slice(next)];
}
