"""Agreement with a reference: claims AGREE, judged stage by stage."""
