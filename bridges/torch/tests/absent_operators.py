"""Why operators of PyTorch's are served by nothing of ours, though they need no other kind of tensor and PyTorch composes them from
no others: coverage_page.py refuses one that is missing here, and one that is here and should not be."""

ABSENT = {
    "an inner step of an operator that is served whole": """
        _aminmax _batch_norm_with_update _cholesky_solve_helper _compute_linear_combination _cummax_helper _cummin_helper _fused_sdp_choice
        _logcumsumexp _scaled_dot_product_flash_attention_for_cpu _scaled_dot_product_flash_attention_for_cpu_backward _slow_conv2d_backward
        _slow_conv2d_forward _unique adaptive_avg_pool2d adaptive_avg_pool3d adaptive_avg_pool3d_backward batch_norm_backward
        batch_norm_update_stats slow_conv3d_forward slow_conv_dilated2d slow_conv_dilated3d slow_conv_transpose2d slow_conv_transpose3d""",
    "a row or an expression of rows is missing": """
        _add_relu _addmm_activation _amp_foreach_non_finite_check_and_unscale _amp_update_scale _histogramdd_bin_edges
        _histogramdd_from_bin_cts _histogramdd_from_bin_tensors _int_mm _masked_softmax _masked_softmax_backward _segment_reduce_backward
        _upsample_lanczos2d_aa _upsample_lanczos2d_aa_backward fractional_max_pool2d
        fractional_max_pool2d_backward fractional_max_pool3d fractional_max_pool3d_backward gcd geqrf glu_backward_jvp glu_jvp hash_tensor
        histogram lcm linalg_ldl_factor_ex linalg_ldl_solve linalg_matrix_sqrth linalg_polar multilabel_margin_loss_backward
        multilabel_margin_loss_forward narrow_copy nonzero_static renorm segment_reduce tril_indices triu_indices unique_dim""",
    "random numbers of a kind that no row draws": """
        _dirichlet_grad _philox_key_fold_in _philox_key_split _philox_normal _philox_randint _philox_uniform _sample_dirichlet
        _standard_gamma _standard_gamma_grad binomial poisson rrelu_with_noise""",
    "a fused layer that PyTorch calls on its own devices only": """
        _native_multi_head_attention _transform_bias_rescale_qkv _transformer_encoder_layer_fwd""",
    "weights of 4 or 8 bits, or scales beside them, in a layout of PyTorch's": """
        _convert_weight_to_int4pack _convert_weight_to_int4pack_for_cpu _fused_moving_avg_obs_fq_helper _mixed_dtypes_linear
        _scaled_grouped_mm _scaled_mm_v2""",
    "about a program or its memory, and computes nothing": """
        _assert_async _functional_assert_async _make_dep_token _resize_output from_file is_set_to""",
    "a test of PyTorch's": """
        _foobar _test_functorch_fallback _test_optional_filled_intlist _test_optional_floatlist _test_optional_intlist""",
    "a kernel of CUDA's, in place of which PyTorch calls another operator here": """
        _conv_depthwise2d _efficient_attention_backward _efficient_attention_forward _fill_mem_eff_dropout_mask _flash_attention_backward
        _flash_attention_forward _flash_attention_forward_no_dropout_inplace _fused_dropout _fused_rms_norm_backward _masked_scale
        _scaled_dot_product_efficient_attention _scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention
        _scaled_dot_product_flash_attention_backward batch_norm_backward_elemt batch_norm_backward_reduce batch_norm_elemt
        batch_norm_gather_stats batch_norm_gather_stats_with_counts batch_norm_stats conv_depthwise3d""",
    "only for tensors of another kind": """
        _spsolve linear_backward matmul_backward max_pool2d_backward native_norm qscheme to_padded_tensor""",
}  # fmt: skip


def reasons():
    """{operator: why}"""
    return {name: reason for reason, names in ABSENT.items() for name in names.split()}


def problems(absent, unserved):
    """What is wrong with the list, as sentences: of `unserved`, each operator needs a reason, and no other has one."""
    missing = [f"{name} is served by nothing, and absent_operators.py has no reason" for name in sorted(set(unserved) - set(absent))]
    stale = [f"{name} is in absent_operators.py, and is served, composed or no operator" for name in sorted(set(absent) - set(unserved))]
    return missing + stale
