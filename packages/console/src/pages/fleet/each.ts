/** The same request for many devices, a few at a time, with an outcome for each. */
import type { Device } from "@tendon/protocol";
import { useEffect, useRef, useState } from "react";

interface Outcome {
  readonly device: Device;
  /** Why it failed. */
  readonly error?: unknown;
}

const atOnce = 6;
/** Thousands of outcomes are shown in steps, not one by one. */
const showMs = 200;

export interface Each {
  readonly state: "idle" | "running" | "done";
  readonly outcomes: readonly Outcome[];
  readonly total: number;
  readonly start: (devices: readonly Device[]) => void;
}

export function useEach(work: (device: Device) => Promise<unknown>, onDone: () => void): Each {
  const [state, setState] = useState<Each["state"]>("idle");
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([]);
  const [total, setTotal] = useState(0);
  const gone = useRef(false);
  useEffect(() => {
    gone.current = false;
    return () => {
      gone.current = true;
    };
  }, []);
  const start = (devices: readonly Device[]) => {
    setState("running");
    setTotal(devices.length);
    setOutcomes([]);
    const waiting = [...devices];
    const ended: Outcome[] = [];
    const show = () => setOutcomes([...ended]);
    const timer = setInterval(() => !gone.current && show(), showMs);
    const worker = async () => {
      for (let device = waiting.shift(); device !== undefined && !gone.current; device = waiting.shift())
        ended.push(await outcomeOf(device, work));
    };
    void Promise.all(Array.from({ length: atOnce }, worker)).then(() => {
      clearInterval(timer);
      onDone();
      if (gone.current) return;
      show();
      setState("done");
    });
  };
  return { state, outcomes, total, start };
}

async function outcomeOf(device: Device, work: (device: Device) => Promise<unknown>): Promise<Outcome> {
  try {
    await work(device);
    return { device };
  } catch (error) {
    return { device, error };
  }
}
