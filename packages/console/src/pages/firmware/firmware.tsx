/** Firmware images by board, with their roll-out progress and actions. */
import type { FirmwareImageView } from "@tendon/protocol";
import { useState } from "react";
import { useImages } from "../../api/firmware.ts";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { useIsLive } from "../../live/live-context.tsx";
import { PageHeader } from "../../shell/page-header.tsx";
import { Button } from "../../ui/button.tsx";
import { GuideLink } from "../../ui/guide-link.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Empty, Panel, SkeletonRows } from "../../ui/states.tsx";
import { ImageRow } from "./image-row.tsx";
import { HandInDialog } from "./upload-image.tsx";

export function FirmwarePage() {
  const { t } = useI18n();
  const { may } = useSession();
  const live = useIsLive();
  const images = useImages();
  const [adding, setAdding] = useState(false);
  const add = (
    <Button look="primary" icon="upload" disabled={!live} onClick={() => setAdding(true)}>
      {t("firmware.add")}
    </Button>
  );
  const guide = <GuideLink guide="firmware-updates">{t("action.guide")}</GuideLink>;
  const all = images.data?.images ?? [];
  return (
    <>
      <PageHeader
        title={t("firmware.title")}
        lead={t(live || all.length === 0 ? "firmware.lead" : "live.memory")}
        actions={
          all.length > 0 && (
            <>
              <span className="mr-2 text-sm">{guide}</span>
              {add}
            </>
          )
        }
      />
      {!may("admin") && <p className="text-soft">{t("firmware.mayNot")}</p>}
      {images.isError && <ProblemNote error={images.error} />}
      {images.isLoading && <SkeletonRows rows={3} />}
      {images.isSuccess && all.length === 0 && (
        <Empty icon="firmware" title={t("firmware.none")}>
          <p>{t("firmware.noneHint")}</p>
          {add}
          {guide}
        </Empty>
      )}
      <div className="grid grid-cols-1 gap-5">
        {byBoard(all).map(([board, own]) => (
          <Panel key={board} title={board}>
            <ul className="divide-y divide-line">
              {own.map((image) => (
                <ImageRow key={image.id} image={image} live={live} />
              ))}
            </ul>
          </Panel>
        ))}
      </div>
      {adding && <HandInDialog onClose={() => setAdding(false)} />}
    </>
  );
}

/** Groups images by board name. Within a board, the newest image comes first, as the gateway sends them. */
function byBoard(images: readonly FirmwareImageView[]): [string, FirmwareImageView[]][] {
  const groups = new Map<string, FirmwareImageView[]>();
  for (const image of images) groups.set(image.board, [...(groups.get(image.board) ?? []), image]);
  return [...groups].sort(([a], [b]) => a.localeCompare(b));
}
