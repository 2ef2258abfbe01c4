#!/bin/sh
# The shortest tour of the GPU path on the machine at hand: DEVICE is hip or cuda.
set -u
device=${DEVICE:-cuda}
kb="python3 -m kbserver"
nvidia-smi 2>/dev/null | head -15
for kernel in step1_naive step2_nhwc step3_plain step5_plain; do
  $kb verify $kernel --device "$device" || true
done
$kb verify step3_nchw_lds --device "$device" || true
$kb verify step5_plain --device "$device" --shape paper || true
$kb time step5_plain --against step3_plain --device "$device" --shape tiny --budget 10 || true
$kb time step5_plain --against torch --device "$device" --budget 20 || true
