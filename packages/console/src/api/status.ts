/** A device's status, read when a page shows it and when a call may have changed it. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { DeviceDetail, ToolList } from "@tendon/protocol";
import { useEffect, useRef } from "react";
import { useEvents } from "../live/live-context.tsx";
import { readTool } from "./calls.ts";
import { keys } from "./queries.ts";

export const statusTool = "self.get_device_status";
/** A backlight fades by one step per 5 ms, so it has reached its new level half a second after a change. */
const settleMs = 600;
/** Tools whose names suggest that they change the status. Calls of other tools do not refresh it. */
const changes = /set_|volume|mute|brightness|theme|reboot/;

export function useStatus(device: DeviceDetail, tools: ToolList | undefined, mayCall: boolean) {
  const client = useQueryClient();
  const { id, online } = device;
  const can =
    mayCall &&
    online &&
    tools?.tools.some(({ name, access }) => name === statusTool && access === "allowed") === true;
  const { mutate, mutateAsync, isPending, error } = useMutation({
    mutationFn: () => readTool(id, statusTool),
    onSuccess: ({ result }) => {
      const value = result.structuredContent ?? readText(result.content);
      if (value === undefined) return;
      const at = new Date().toISOString();
      client.setQueryData<DeviceDetail>(
        keys.device(id),
        (known) => known && { ...known, status: { at, value } },
      );
    },
  });
  // Read once when the device is online, even if the last answer is recent, because a call may have followed it. Later,
  // events trigger the refresh.
  useEffect(() => {
    if (can) mutate();
  }, [can, mutate]);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEvents(["call.finished"], ({ device: of, data }) => {
    if (of !== id || !can || data["outcome"] !== "ok" || !changes.test(String(data["tool"]))) return;
    clearTimeout(timer.current);
    timer.current = setTimeout(() => mutate(), settleMs);
  });
  return { can, refresh: mutateAsync, isPending, error };
}

function readText(
  content: readonly Readonly<Record<string, unknown>>[],
): Record<string, unknown> | undefined {
  const text = content.find(({ type }) => type === "text")?.["text"];
  try {
    const value: unknown = JSON.parse(String(text));
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
