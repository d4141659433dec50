/** One image: its version, its share of the boards, and how many boards were updated or failed. */
import type { FirmwareImageView } from "@tendon/protocol";
import { useState } from "react";
import { Link } from "wouter";
import { useAliases } from "../../api/aliases.ts";
import { useImageFailures } from "../../api/firmware.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { deviceAddress } from "../../shell/navigation.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Badge, Skeleton } from "../../ui/states.tsx";
import { Ago } from "../../ui/time.tsx";
import { formatBytes } from "./bytes.ts";
import { HaltDialog, OfferDialog, RemoveDialog, ResumeDialog } from "./image-changes.tsx";

type Asking = "offer" | "halt" | "resume" | "remove" | undefined;

export function ImageRow({ image, live }: { readonly image: FirmwareImageView; readonly live: boolean }) {
  const { t, number, either } = useI18n();
  const [asking, setAsking] = useState<Asking>();
  const done = () => setAsking(undefined);
  const halted = image.state === "halted";
  return (
    <li className="grid grid-cols-1 gap-3 p-4" aria-label={t("firmware.of", image)}>
      <div className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
        <div className="min-w-0">
          <h3 className="flex flex-wrap items-center gap-2 text-lg font-semibold">
            {image.version}
            <ImageState image={image} live={live} />
            {image.force && <Badge tone="warn">{t("firmware.forced")}</Badge>}
          </h3>
          <p className="text-sm text-soft">
            {t(image.tags.length === 0 ? "firmware.share" : "firmware.shareTagged", {
              share: image.share,
              tags: either(image.tags),
            })}{" "}
            · {image.project} · {image.chip} · {formatBytes(number, image.size)} · {t("firmware.uploaded")}{" "}
            <Ago at={image.addedAt} />
          </p>
        </div>
        <div className="flex flex-wrap gap-2">
          <Button disabled={!live} onClick={() => setAsking("offer")}>
            {t("firmware.changeOffer")}
          </Button>
          <Button
            icon={halted ? "play" : "halt"}
            disabled={!live}
            onClick={() => setAsking(halted ? "resume" : "halt")}
          >
            {t(halted ? "firmware.resume" : "firmware.halt")}
          </Button>
          <Menu trigger={<IconButton icon="more" label={t("device.more")} disabled={!live} />}>
            <MenuItem icon="trash" danger onSelect={() => setAsking("remove")}>
              {t("firmware.remove")}
            </MenuItem>
          </Menu>
        </div>
      </div>
      {image.haltedReason !== null && (
        <p className="flex items-center gap-2 text-sm text-bad">
          <Icon name="alert" size={15} />
          {image.haltedReason}
        </p>
      )}
      {!image.here && <p className="text-sm text-bad">{t("firmware.missingHint")}</p>}
      <Rollout image={image} live={live} />
      {image.devices.failed > 0 && <Failures id={image.id} />}
      {asking === "offer" && <OfferDialog image={image} onClose={done} />}
      <HaltDialog image={image} open={asking === "halt"} onClose={done} />
      {asking === "resume" && <ResumeDialog image={image} onClose={done} />}
      <RemoveDialog image={image} open={asking === "remove"} onClose={done} />
    </li>
  );
}

function ImageState({ image, live }: { readonly image: FirmwareImageView; readonly live: boolean }) {
  const { t } = useI18n();
  const state = image.here ? image.state : "missing";
  const tone = !live ? "neutral" : state === "offered" ? "ok" : "bad";
  return (
    <span role="status">
      <Badge tone={tone}>{t(`firmware.state.${state}`)}</Badge>
    </span>
  );
}

const parts = [
  { part: "updated", dot: "bg-ok", piece: "fill-ok" },
  { part: "fetched", dot: "bg-accent", piece: "fill-accent" },
  { part: "offered", dot: "bg-line-strong", piece: "fill-line-strong" },
  { part: "failed", dot: "bg-bad", piece: "fill-bad" },
] as const;

/** The progress as text and as a bar. */
function Rollout({ image, live }: { readonly image: FirmwareImageView; readonly live: boolean }) {
  const { t, n } = useI18n();
  const { devices } = image;
  const all = devices.updated + devices.fetched + devices.offered + devices.failed;
  if (all === 0) return <p className="text-sm text-soft">{t("firmware.notRequested")}</p>;
  const shown = parts.filter(({ part }) => devices[part] > 0);
  return (
    <div className={`grid grid-cols-1 gap-1.5 ${live ? "" : "opacity-70"}`}>
      <svg
        aria-hidden="true"
        className="h-2 w-full rounded-full"
        viewBox={`0 0 ${all} 1`}
        preserveAspectRatio="none"
      >
        {shown.map(({ part, piece }, at) => (
          <rect
            key={part}
            x={shown.slice(0, at).reduce((sum, before) => sum + devices[before.part], 0)}
            y="0"
            width={devices[part]}
            height="1"
            className={piece}
          />
        ))}
      </svg>
      <ul aria-label={t("firmware.rollout")} className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
        {shown.map(({ part, dot }) => (
          <li key={part} className="flex items-center gap-1.5">
            <span aria-hidden="true" className={`size-2 rounded-full ${dot}`} />
            {n(`firmware.${part}`, devices[part])}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Failures({ id }: { readonly id: string }) {
  const { t } = useI18n();
  const aliasOf = useAliases();
  const [open, setOpen] = useState(false);
  const { data, error } = useImageFailures(id, open);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary className="w-fit rounded text-sm text-soft hover:text-text">{t("firmware.failures")}</summary>
      <div className="mt-2">
        {error !== null && <ProblemNote error={error} />}
        {open && data === undefined && error === null && <Skeleton className="h-6 w-full" />}
        <ul className="divide-y divide-line rounded-lg bg-raised">
          {data?.failures.map(({ device, reason, at }) => (
            <li key={device} className="flex flex-wrap justify-between gap-x-4 px-3 py-2 text-sm">
              <Link href={deviceAddress(device)} className="rounded font-medium hover:text-accent-deep">
                {aliasOf(device)}
              </Link>
              <span className="order-last basis-full sm:order-none sm:flex-1 sm:basis-0">{reason}</span>
              <span className="text-soft">
                <Ago at={at} />
              </span>
            </li>
          ))}
        </ul>
      </div>
    </details>
  );
}
