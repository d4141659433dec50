import type { ReactNode } from "react";
import { Link } from "wouter";
import { deviceAddress } from "../shell/navigation.ts";

/** Whether something has connected, for a person who waits for it. Screen readers hear each change. */
export function ConnectionLight(props: { readonly connected: boolean; readonly children: ReactNode }) {
  const { connected, children } = props;
  return (
    <p role="status" className="flex items-center gap-3">
      <span
        aria-hidden="true"
        className={`size-3 shrink-0 rounded-full border-2 ${connected ? "border-ok bg-ok" : "skeleton border-soft"}`}
      />
      <span className={`min-w-0 ${connected ? "" : "text-soft"}`}>{children}</span>
    </p>
  );
}

/** Waits for devices that the user adds, and then links to them. */
export function AddedDevices(props: {
  readonly waiting: string;
  readonly connected: string;
  readonly devices: readonly { readonly id: string; readonly alias: string }[];
}) {
  const { waiting, connected, devices } = props;
  if (devices.length === 0) return <ConnectionLight connected={false}>{waiting}</ConnectionLight>;
  return (
    <ConnectionLight connected>
      <span className="font-medium text-ok">{connected}</span>{" "}
      {devices.map(({ id, alias }, at) => (
        <span key={id}>
          {at > 0 && ", "}
          <Link href={deviceAddress(id)} className="rounded text-accent-deep underline">
            {alias}
          </Link>
        </span>
      ))}
    </ConnectionLight>
  );
}
